import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Client, type Pool } from 'pg';
import { createPool, createReplicaPool, poolModeOf } from '../../../src/postgres/pool.js';
import { statement } from '../../../src/postgres/statement.js';
import { inTransaction } from '../../../src/postgres/transaction.js';
import { ConfigError } from '../../../src/runtime/config.js';
import {
  KEEPS_STATEMENTS,
  LOSING_STATEMENTS,
  PGBOUNCER,
  PGBOUNCER_PACKAGE,
  type PgBouncer,
  startPgBouncer,
  BY_TRANSACTION,
} from '../../support/pgbouncer.js';
import { createDatabase, type TestDatabase } from '../../support/postgres.js';
import { startFlakyServer } from '../../support/flaky-server.js';
import { describeWith } from '../../support/tools.js';

const OPTIONS = {
  statement_timeout: 200,
  lock_timeout: 123,
  settings: { jit: 'off', plan_cache_mode: 'force_custom_plan' },
};
const NAMED = statement('pooled-named', { n: 'integer' }, { n: 'integer' }, 'select :n as n');
const SHOWN = statement(
  'pooled-shown',
  {},
  { shown: 'text[]' },
  `select array[current_setting('statement_timeout'), current_setting('lock_timeout'),
    current_setting('idle_in_transaction_session_timeout'), current_setting('jit'),
    current_setting('plan_cache_mode')] as shown`,
);
const WANTED = ['200ms', '123ms', '10s', 'off', 'force_custom_plan'];
const MODES = [
  ['session', ['pool_mode = session', 'default_pool_size = 40']],
  ['transaction', BY_TRANSACTION],
] as const;

describeWith(PGBOUNCER !== undefined, PGBOUNCER_PACKAGE)('Behind PgBouncer', () => {
  let database: TestDatabase;
  const ends: (() => Promise<unknown>)[] = [];
  const startPooler = async (settings: readonly string[]): Promise<PgBouncer> => {
    const pooler = await startPgBouncer(database.url, settings);
    ends.unshift(() => pooler.stop());
    return pooler;
  };
  const opened = (pool: Pool): Pool => {
    ends.unshift(() => pool.end());
    return pool;
  };
  beforeAll(async () => void (database = await createDatabase({ migrated: false })));
  afterAll(async () => {
    for (const end of ends) await end();
    await database.drop();
  });

  it('a pool rejects a pooler in transaction mode that loses prepared statements', async () => {
    const { url } = await startPooler(LOSING_STATEMENTS);
    await expect(poolModeOf(url)).rejects.toThrow(ConfigError);
    await expect(opened(createPool(url)).query('select 1')).rejects.toThrow(
      'use PgBouncer 1.21 or later with max_prepared_statements above 0, or set pool_mode = session',
    );
  });

  it('the pool mode is detected again if the first attempt failed', async () => {
    const { url } = await startPooler(['pool_mode = session']);
    const refusing = await startFlakyServer(url, 1);
    ends.unshift(async () => refusing.close());
    await expect(poolModeOf(refusing.url)).rejects.toThrow('Connection terminated');
    expect(await poolModeOf(refusing.url)).toBe('session');
    expect(await poolModeOf(database.url)).toBe('session');
  });

  for (const [mode, settings] of MODES) {
    // Debian 12 has PgBouncer 1.18, which does not track prepared statements.
    const itIn = mode === 'session' || KEEPS_STATEMENTS ? it : it.skip;

    itIn(`by ${mode}, prepared statements are found on every connection`, async () => {
      const { url } = await startPooler(settings);
      expect(await poolModeOf(url)).toBe(mode);
      const longTimeouts = { connectionTimeoutMillis: 60_000, query_timeout: 60_000, statement_timeout: 60_000 };
      const pools = [
        createPool(url, () => {}, longTimeouts),
        createPool(url, () => {}, longTimeouts),
        createReplicaPool(url, longTimeouts),
      ].map(opened);
      const results = Array.from({ length: 300 }, (_, n) => NAMED.run(pools[n % pools.length]!, { n }));
      expect((await Promise.all(results)).map(([row]) => row!.n)).toEqual(results.map((__, n) => n));
    });

    itIn(
      `by ${mode}, statements and transactions have the pool's settings, and leave no settings to other clients`,
      async () => {
        const { url } = await startPooler(settings);
        const pool = opened(createPool(url, () => {}, OPTIONS));
        for (let n = 0; n < 5; n += 1) expect(await SHOWN.run(pool, {})).toEqual([{ shown: WANTED }]);
        await expect(pool.query('select pg_sleep(60)')).rejects.toMatchObject({ code: '57014' });
        const settingsWithin = (begin: string): Promise<unknown> =>
          inTransaction(
            pool,
            async (connection) => {
              const [row] = await SHOWN.run(connection, {});
              return [...row!.shown, ...(await connection.query('show transaction_isolation')).rows];
            },
            begin,
          );
        expect(await settingsWithin('begin')).toEqual([...WANTED, { transaction_isolation: 'read committed' }]);
        expect(
          await settingsWithin('begin isolation level repeatable read; set local statement_timeout = 777'),
        ).toEqual(['777ms', ...WANTED.slice(1), { transaction_isolation: 'repeatable read' }]);
        const unpooledClient = new Client({ connectionString: url });
        await unpooledClient.connect();
        for (let n = 0; n < 5; n += 1)
          expect((await unpooledClient.query('show statement_timeout')).rows[0]).toEqual({ statement_timeout: '0' });
        await unpooledClient.end();
      },
    );
  }
});
