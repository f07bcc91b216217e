#!/usr/bin/env bash
# PostgreSQL 18: setting the type of a column to the type that it has changes its collation.
# Guess: `alter column name type text` of a column of type text changes nothing.
# Seen with PGlite 0.5.17 (PostgreSQL 18.7): a column with COLLATE "C" gets the default collation without a notice, so
# that the order of its indexes changes and they are built anew, and the prepared statements of connected sessions fail
# with "cached plan must not change result type". The type must be written with its collation.
set -euo pipefail
cd "$(mktemp -d)"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent @electric-sql/pglite@0.5.17
cat >seen.mjs <<'JS'
import { PGlite } from '@electric-sql/pglite';
const db = new PGlite();
await db.exec('create table t (name text collate "C" primary key); prepare names as select name from t; execute names');
const collation = async () =>
  (await db.query(`select collname from pg_attribute join pg_collation c on c.oid = attcollation
    where attrelid = 't'::regclass and attname = 'name'`)).rows[0].collname;
console.log('before:', await collation());
await db.exec('alter table t alter column name type text');
console.log('after:', await collation());
console.log('prepared statement:', await db.exec('execute names').then(() => 'runs', ({ message }) => message));
await db.exec('alter table t alter column name type text collate "C"');
console.log('with its collation:', await collation());
JS
node seen.mjs | tee seen.txt
diff seen.txt - <<'TXT'
before: C
after: default
prepared statement: cached plan must not change result type
with its collation: C
TXT
