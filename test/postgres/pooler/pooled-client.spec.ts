import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Client, type Pool, type QueryConfig } from 'pg';
import { createPool, createReplicaPool } from '../../../src/postgres/pool.js';
import { poolerOf } from '../../../src/postgres/pooler/pooled-client.js';
import { poolerAt } from '../../../src/postgres/pooler/pooler.js';
import { isTransient } from '../../../src/postgres/transient-errors.js';
import { eventually } from '../../support/eventually.js';
import { statement } from '../../../src/postgres/statement.js';
import {
  BY_TRANSACTION,
  FOLLOWS_NAMES,
  PGBOUNCER,
  PGBOUNCER_PACKAGE,
  type PgBouncer,
  startPgBouncer,
} from '../../support/pgbouncer.js';
import { createDatabase, type TestDatabase } from '../../support/postgres.js';
import { refusingAtFirst } from '../../support/refusing-at-first.js';
import { describeWith } from '../../support/tools.js';

const LIMITS = {
  statement_timeout: 200,
  lock_timeout: 123,
  options: '-c jit=off -c plan_cache_mode=force_custom_plan',
};
const NAMED = statement('pooled-named', { n: 'integer' }, { n: 'integer' }, 'select $1::integer as n');
const SHOWN = statement(
  'pooled-shown',
  {},
  { shown: 'text[]' },
  `select array[current_setting('statement_timeout'), current_setting('lock_timeout'),
    current_setting('idle_in_transaction_session_timeout'), current_setting('jit'),
    current_setting('plan_cache_mode')] as shown`,
);
const WANTED = ['200ms', '123ms', '10s', 'off', 'force_custom_plan'];

describeWith(PGBOUNCER !== undefined, PGBOUNCER_PACKAGE)('A connection through PgBouncer', () => {
  let database: TestDatabase;
  const ends: (() => Promise<unknown>)[] = [];
  const behind = async (...settings: string[]): Promise<PgBouncer> => {
    const pooler = await startPgBouncer(database.url, settings);
    ends.unshift(() => pooler.stop());
    return pooler;
  };
  const opened = (pool: Pool): Pool => {
    ends.unshift(() => pool.end());
    return pool;
  };
  let mixed: PgBouncer;
  let pool: Pool;

  beforeAll(async () => {
    database = await createDatabase({ migrated: false, pooled: false });
    mixed = await behind(...BY_TRANSACTION);
    pool = opened(createPool(mixed.url, () => {}, LIMITS));
  });
  afterAll(async () => {
    for (const end of ends) await end();
    await database.drop();
  });

  it('is known for what it is', async () => {
    expect(await poolerAt(mixed.url)).toEqual({ url: mixed.url, mixesSessions: true, keepsNames: FOLLOWS_NAMES });
    const { url } = await behind('pool_mode = session');
    expect(await poolerAt(url)).toEqual({ url, mixesSessions: false, keepsNames: true });
    expect(await poolerAt(database.url)).toBeUndefined();
    const [straight, through] = await Promise.all([database.pool.connect(), pool.connect()]);
    expect([poolerOf(straight), poolerOf(through)?.mixesSessions]).toEqual([undefined, true]);
    straight.release();
    through.release();
  });

  it('is looked at again if nobody answered', async () => {
    const { url, close } = await refusingAtFirst(mixed.url, 1);
    ends.unshift(async () => close());
    await expect(poolerAt(url)).rejects.toThrow('Connection terminated');
    expect(await poolerAt(url)).toMatchObject({ mixesSessions: true });
  });

  it('finds its statements on whichever connection it gets', async () => {
    const pools = [pool, opened(createPool(mixed.url, () => {})), opened(createReplicaPool(mixed.url, LIMITS))];
    const asked = Array.from({ length: 300 }, (_, n) => NAMED.run(pools[n % pools.length]!, { n }));
    expect((await Promise.all(asked)).map(([row]) => row!.n)).toEqual(asked.map((__, n) => n));
  });

  it('keeps its names where these follow it, and has none elsewhere', async () => {
    await NAMED.run(pool, { n: 1 });
    const { rows } = await pool.query(
      "select from pg_prepared_statements where statement like 'select $1::integer as n'",
    );
    expect(rows.length > 0).toBe(FOLLOWS_NAMES);
  });

  it('loses its names when the pooler is replaced by one that keeps none', async () => {
    const first = await startPgBouncer(database.url, ['pool_mode = session']);
    const { url } = first;
    const lasting = opened(createPool(url, () => {}));
    await NAMED.run(lasting, { n: 1 });
    await first.stop();
    const nameless = ['pool_mode = transaction', ...(FOLLOWS_NAMES ? ['max_prepared_statements = 0'] : [])];
    const second = await startPgBouncer(database.url, nameless, { listenPort: Number(new URL(url).port) });
    ends.unshift(() => second.stop());
    const errors: unknown[] = [];
    const many = Array.from({ length: 10 }, (_, n) => n);
    await eventually('all are answered', async () => {
      const answers = await Promise.allSettled(many.map((n) => NAMED.run(lasting, { n })));
      const failed = answers.filter((answer) => answer.status === 'rejected');
      errors.push(...failed.map(({ reason }) => reason as unknown));
      return failed.length === 0 && (await poolerAt(url))?.keepsNames === false;
    });
    expect(errors.filter((error) => !isTransient(error))).toEqual([]);
  });

  it('has its limits and settings for each statement and transaction, and leaves none behind', async () => {
    for (let n = 0; n < 5; n += 1) expect(await SHOWN.run(pool, {})).toEqual([{ shown: WANTED }]);
    const connection = await pool.connect();
    for (const begin of ['begin', 'begin transaction isolation level repeatable read, read only']) {
      await connection.query(begin);
      expect(await SHOWN.run(connection, {})).toEqual([{ shown: WANTED }]);
      const { rows } = await connection.query('show transaction_isolation');
      expect(rows).toEqual([{ transaction_isolation: begin === 'begin' ? 'read committed' : 'repeatable read' }]);
      await connection.query('commit');
    }
    // Its own come after them.
    await connection.query(`begin; set local statement_timeout = 777`);
    expect((await SHOWN.run(connection, {}))[0]!.shown[0]).toBe('777ms');
    await connection.query('rollback');
    connection.release();
    const bare = new Client({ connectionString: mixed.url });
    await bare.connect();
    for (let n = 0; n < 5; n += 1)
      expect((await bare.query('show statement_timeout')).rows[0]).toEqual({ statement_timeout: '0' });
    await bare.end();
  });

  it('is stopped by the server at its limit, also for one word, several statements and in a transaction', async () => {
    const limit = { code: '57014', message: expect.stringContaining('statement timeout') };
    await expect(pool.query('select pg_sleep($1)', [60])).rejects.toMatchObject(limit);
    await expect(pool.query('select pg_sleep(60)')).rejects.toMatchObject(limit);
    await expect(pool.query('select 1; select pg_sleep(60)')).rejects.toMatchObject(limit);
    const connection = await pool.connect();
    await connection.query('begin');
    await expect(connection.query('select pg_sleep(60)')).rejects.toMatchObject(limit);
    await connection.query('rollback');
    expect(await SHOWN.run(connection, {})).toEqual([{ shown: WANTED }]);
    connection.release();
  });

  it('answers as one without a pooler does', async () => {
    expect((await pool.query('select 1 as a union all select 2')).rows).toEqual([{ a: 1 }, { a: 2 }]);
    expect((await pool.query('select count(*) as n from pg_class where false')).rows).toEqual([{ n: 0 }]);
    await expect(pool.query('select 1/$1::int', [0])).rejects.toMatchObject({ code: '22012' });
    const limited: QueryConfig & { query_timeout: number } = { text: 'select pg_sleep(60)', query_timeout: 20 };
    await expect(pool.query(limited)).rejects.toThrow('Query read timeout');
  });
});
