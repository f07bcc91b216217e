#!/usr/bin/env bash
# PostgreSQL 18: the statistics of a table keep the values of its rows after all rows have been deleted and analyzed.
# Guess: ANALYZE of an empty table removes what pg_stats shows of the rows that it had.
# Seen with PGlite 0.5.17 (PostgreSQL 18.7): most_common_vals still quotes the values after DELETE and ANALYZE, and after
# TRUNCATE and ANALYZE. Whoever erases personal data has to remove the statistics too; pg_dump --statistics copies them.
set -euo pipefail
cd "$(mktemp -d)"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent @electric-sql/pglite@0.5.17
cat >seen.mjs <<'JS'
import { PGlite } from '@electric-sql/pglite';
const db = new PGlite();
await db.exec(`create table s (contact text); insert into s select 'person' from generate_series(1, 100); analyze s`);
const show = async (when) =>
  console.log(when, (await db.query(`select most_common_vals::text as v from pg_stats where tablename = 's'`)).rows[0]?.v);
await show('with rows:');
await db.exec('delete from s');
await db.exec('analyze s');
await show('deleted:');
await db.exec('truncate s');
await db.exec('analyze s');
await show('truncated:');
await db.exec('alter table s alter column contact type text');
await show('type set again:');
JS
node seen.mjs | tee seen.txt
diff seen.txt - <<'TXT'
with rows: {person}
deleted: {person}
truncated: {person}
type set again: undefined
TXT
