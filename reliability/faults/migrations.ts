import { NO_LIMITS } from '../../test/support/postgres.js';
import { setTimeout as sleep } from 'node:timers/promises';
import { Kysely, Migrator, PostgresDialect } from 'kysely';
import type { Pool } from 'pg';
import * as baseline from '../../src/read-models/migrations/0023-baseline.js';
import { createPool } from '../../src/postgres/pool.js';
import { startProxy } from '../../test/support/tcp-proxy.js';
import type { Outcome, Scenario } from '../scenario.js';
import { Process } from '../rig/processes.js';
import type { RunContext } from '../rig/run-context.js';

interface Scale {
  readonly rounds: number;
}

/** Returns columns, indexes, functions and applied migrations of the database. */
const shapeOf = async (pool: Pool): Promise<string> => {
  const { rows } = await pool.query<{ what: string }>(`
    select table_schema || '.' || table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable as what
      from information_schema.columns where table_schema in ('read', 'service', 'log')
    union all select indexdef from pg_indexes where schemaname in ('read', 'service', 'log')
    union all select proname || ' ' || md5(prosrc) from pg_proc where pronamespace::regnamespace::text in ('read', 'service', 'log')
    order by 1`);
  const run = [];
  for (const schema of ['read', 'log'])
    run.push(...(await pool.query<{ name: string }>(`select name from ${schema}.migrations order by 1`)).rows);
  return JSON.stringify([rows.map(({ what }) => what), run.map(({ name }) => name)]);
};

/** Migrates a database, and kills the process at the message `cutAt`. */
const migrateOnce = async (
  context: RunContext,
  url: string,
  cutAt = Infinity,
): Promise<{ code: number | null; messages: number }> => {
  const { proxy, url: through } = await startProxy(url);
  context.onEnd(() => proxy.close());
  let messages = 0;
  const process = Process.start(context, 'src/cli', { DATABASE_URL: through }, { args: ['migrate'] });
  proxy.onRequest = () => {
    messages += 1;
    if (messages === cutAt) process.signal('SIGKILL');
  };
  await process.ended;
  return { code: process.exitCode, messages };
};

const killMigrations = async (context: RunContext, { rounds }: Scale): Promise<Outcome> => {
  const clean = await context.database({ migrated: false });
  const { code, messages } = await migrateOnce(context, clean.url);
  const findings: string[] = code === 0 ? [] : [`The clean run ended with ${code}`];
  const expected = await shapeOf(clean.pool);
  const cuts: number[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    const { url, pool } = await context.database({ migrated: false });
    const cutAt = 2 + context.random.int(messages - 2);
    context.reportProgress(`round ${round} of ${rounds}: killed at message ${cutAt} of ${messages}`);
    await migrateOnce(context, url, cutAt);
    cuts.push(cutAt);
    const next = await migrateOnce(context, url);
    if (next.code !== 0) findings.push(`Killed at message ${cutAt}, the next start ended with ${next.code}`);
    else if ((await shapeOf(pool)) !== expected)
      findings.push(`Killed at message ${cutAt}, the next start produced a different schema`);
  }
  return {
    workload: `${rounds} kills, at messages ${cuts.join(', ')} of ${messages} to the database`,
    observed: 'the next start completed every migration',
    findings,
  };
};

/** Migrates without a transaction. */
const withoutTransaction = async (context: RunContext): Promise<Outcome> => {
  const database = await context.database({ migrated: false });
  const { proxy, url } = await startProxy(database.url);
  context.onEnd(() => proxy.close());
  await database.pool.query('create schema read; create table read.later_migrations (name text)');
  const findings: string[] = [];
  for (const isCut of [true, false]) {
    const pool = createPool(url, () => {}, { ...NO_LIMITS, max: 1 });
    const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) });
    const migrator = new Migrator({
      db,
      provider: { getMigrations: () => Promise.resolve({ '0023-baseline': baseline }) },
      migrationTableSchema: 'read',
      disableTransactions: true,
    });
    let isReached = false;
    proxy.onRequest = (text) => {
      // The connection is closed at this table.
      isReached ||= text.includes('create table read.days');
      if (isCut && isReached) proxy.dropConnections();
    };
    const result = await migrator.migrateToLatest().catch((error: unknown) => ({ error }));
    if (!isCut && result.error) findings.push(`The next start ended with ${(result.error as Error).message}`);
    await pool.end().catch(() => {});
    await sleep(100);
  }
  return { workload: '1 kill', observed: '-', findings };
};

export const killedMigration: Scenario<Scale> = {
  name: 'F19',
  what: 'a migration is killed',
  full: { rounds: 10 },
  everyChange: { rounds: 1 },
  run: killMigrations,
  guard: 'each migration is a transaction, or each of its statements can run twice',
  withoutGuard: withoutTransaction,
  controlFinding: /^The next start ended with The tables are of a version before 2\.1\.0/,
};
