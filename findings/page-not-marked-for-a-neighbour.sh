#!/usr/bin/env bash
# PostgreSQL 18: VACUUM leaves the pages of a table unmarked because another transaction has committed asynchronously.
# Guess: once the transaction that inserted the rows has committed durably, VACUUM marks its pages as all-visible.
# Seen with PGlite 0.5.17 (PostgreSQL 18.7): after a durable insert and VACUUM, all pages are marked. With one
# asynchronous commit in between, of another table, none is, and an index-only scan fetches every row from the heap.
# The commit log remembers the position of one commit for 32 neighbouring transactions, so VACUUM takes the durable one
# for not yet flushed. With synchronous_commit off for a role, `VACUUM ANALYZE a, b` does this to itself: the ANALYZE of
# a is the asynchronous neighbour of the rows of b. VACUUM reports no reason, and a table that nobody changes any more is
# not vacuumed again.
set -euo pipefail
cd "$(mktemp -d)"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent @electric-sql/pglite@0.5.17
cat >seen.mjs <<'JS'
import { PGlite } from '@electric-sql/pglite';
const db = new PGlite();
const run = (sql) => db.exec(sql);
const show = async (when, table) => {
  const { rows } = await db.query('select relpages > 0 as has_pages, relallvisible from pg_class where relname = $1', [table]);
  console.log(when, rows[0].has_pages, rows[0].relallvisible > 0 ? 'marked' : 'not marked');
};
await run('create table first (n int primary key); create table second (n int primary key); create table other (n int)');
await run('set synchronous_commit = on');
await run('insert into first select generate_series(1, 20000)');
await run('vacuum first');
await show('durable commit:', 'first');
await run('insert into second select generate_series(1, 20000)');
await run('set synchronous_commit = off');
await run('insert into other values (1)');
await run('vacuum second');
await show('with an asynchronous neighbour:', 'second');
await run('set synchronous_commit = on');
await run('insert into other values (2)');
await run('vacuum second');
await show('after the next durable commit:', 'second');
JS
node seen.mjs | tee seen.txt
diff seen.txt - <<'TXT'
durable commit: true marked
with an asynchronous neighbour: true not marked
after the next durable commit: true marked
TXT
