import { NO_LIMITS } from '../../test/support/postgres.js';
import { setTimeout as sleep } from 'node:timers/promises';
import { Kysely, Migrator, PostgresDialect } from 'kysely';
import type { Pool } from 'pg';
import * as baseline from '../../src/read-models/migrations/0023-baseline.js';
import { createPool } from '../../src/postgres/pool.js';
import { startProxy } from '../../test/support/tcp-proxy.js';
import type { Outcome, Scenario } from '../scenario.js';
import { Process } from '../rig/processes.js';
import type { Scene } from '../rig/scene.js';

interface Dose {
  readonly rounds: number;
}

/** What the migrations leave behind, down to the columns, the indexes and which of them have run. */
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

/** Brings a new database to this version, cut off in the middle where `cutAt` says so. */
const migrateOnce = async (
  scene: Scene,
  url: string,
  cutAt = Infinity,
): Promise<{ code: number | null; messages: number }> => {
  const { proxy, url: through } = await startProxy(url);
  scene.later(() => proxy.close());
  let messages = 0;
  const process = Process.start(scene, 'src/cli', { DATABASE_URL: through }, { words: ['migrate'] });
  proxy.onRequest = () => {
    messages += 1;
    if (messages === cutAt) process.signal('SIGKILL');
  };
  await process.ended;
  return { code: process.exitCode, messages };
};

const killMigrations = async (scene: Scene, { rounds }: Dose): Promise<Outcome> => {
  const clean = await scene.database({ migrated: false });
  const { code, messages } = await migrateOnce(scene, clean.url);
  const findings: string[] = code === 0 ? [] : [`The clean run ended with ${code}`];
  const due = await shapeOf(clean.pool);
  const cuts: number[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    const { url, pool } = await scene.database({ migrated: false });
    const cutAt = 2 + scene.random.int(messages - 2);
    scene.tell(`round ${round} of ${rounds}: killed at message ${cutAt} of ${messages}`);
    await migrateOnce(scene, url, cutAt);
    cuts.push(cutAt);
    const next = await migrateOnce(scene, url);
    if (next.code !== 0) findings.push(`Killed at message ${cutAt}, the next start ended with ${next.code}`);
    else if ((await shapeOf(pool)) !== due)
      findings.push(`Killed at message ${cutAt}, the next start left other tables`);
  }
  return {
    dose: `${rounds} kills, at messages ${cuts.join(', ')} of the ${messages} to the database`,
    seen: 'the next start completed each',
    findings,
  };
};

/** The same migration, a statement a time and none of them taken back. */
const withoutTransaction = async (scene: Scene): Promise<Outcome> => {
  const database = await scene.database({ migrated: false });
  const { proxy, url } = await startProxy(database.url);
  scene.later(() => proxy.close());
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
      // This table is not made any more.
      isReached ||= text.includes('create table read.days');
      if (isCut && isReached) proxy.dropConnections();
    };
    const result = await migrator.migrateToLatest().catch((error: unknown) => ({ error }));
    if (!isCut && result.error) findings.push(`The next start ended with ${(result.error as Error).message}`);
    await pool.end().catch(() => {});
    await sleep(100);
  }
  return { dose: '1 kill', seen: '-', findings };
};

export const killedMigration: Scenario<Dose> = {
  name: 'F19',
  what: 'a migration killed in the middle',
  full: { rounds: 10 },
  everyChange: { rounds: 2 },
  run: killMigrations,
  guard: 'the migrations are one transaction',
  without: withoutTransaction,
};
