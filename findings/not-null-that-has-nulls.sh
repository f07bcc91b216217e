#!/usr/bin/env bash
# PostgreSQL 18: a NOT NULL constraint that is NOT VALID makes the catalogues say that the column has no nulls.
# Guess: is_nullable stays YES until the constraint is validated, because the older rows may have nulls.
# Seen with PGlite 0.5.17 (PostgreSQL 18.7) and kysely 0.28.18: information_schema says NO, pg_attribute.attnotnull is
# true, and the introspection of kysely says that the column is not nullable, while rows have null. Types generated from
# it are wrong for exactly the rows for whose sake the constraint was added as NOT VALID.
set -euo pipefail
cd "$(mktemp -d)"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent @electric-sql/pglite@0.5.17 kysely@0.28.18
cat >seen.mjs <<'JS'
import { PGlite } from '@electric-sql/pglite';
import { PostgresIntrospector, Kysely, PostgresAdapter, PostgresQueryCompiler, DummyDriver } from 'kysely';
const lite = new PGlite();
await lite.exec(`create table asset (brand text); insert into asset values (null);
  alter table asset add constraint branded not null brand not valid`);
class Driver extends DummyDriver {
  acquireConnection = async () => ({
    executeQuery: ({ sql, parameters }) => lite.query(sql, [...parameters]),
    streamQuery: () => { throw new Error('not used'); },
  });
}
const db = new Kysely({ dialect: {
  createAdapter: () => new PostgresAdapter(), createDriver: () => new Driver(),
  createIntrospector: (db) => new PostgresIntrospector(db), createQueryCompiler: () => new PostgresQueryCompiler(),
} });
const one = async (sql) => Object.values((await lite.query(sql)).rows[0])[0];
console.log('validated:', await one(`select convalidated from pg_constraint where conname = 'branded'`));
console.log('rows with null:', await one('select count(*)::int from asset where brand is null'));
console.log('is_nullable:', await one(`select is_nullable from information_schema.columns where table_name = 'asset'`));
console.log('attnotnull:', await one(`select attnotnull from pg_attribute
  where attrelid = 'asset'::regclass and attname = 'brand'`));
console.log('kysely, nullable:', (await db.introspection.getTables())[0].columns[0].isNullable);
JS
node seen.mjs | tee seen.txt
diff seen.txt - <<'TXT'
validated: false
rows with null: 1
is_nullable: NO
attnotnull: true
kysely, nullable: false
TXT
