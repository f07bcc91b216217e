import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Client, type QueryConfig } from 'pg';
import { createPool, createReplicaPool } from '../../../src/postgres/pool.js';
import { setInEachTransaction, inTransaction } from '../../../src/postgres/transaction.js';
import { isTransient } from '../../../src/postgres/transient-errors.js';
import { eventuallyPasses } from '../../support/eventually.js';
import { startProxy } from '../../support/tcp-proxy.js';
import { createDatabase, type TestDatabase } from '../../support/postgres.js';

let database: TestDatabase;
const endings: (() => Promise<unknown>)[] = [];
beforeEach(async () => void (database = await createDatabase({ migrated: false })));
afterEach(async () => {
  for (const ending of endings.splice(0).reverse()) await ending();
  await database.drop();
});

const poolOf = (url: string, create: typeof createPool | typeof createReplicaPool = createPool) => {
  const pool = create === createPool ? createPool(url) : createReplicaPool(url, {});
  endings.push(() => pool.end());
  return pool;
};
/** Sets whether new connections find a read-only server. */
const setReadOnly = async (isReadOnly: boolean): Promise<void> => {
  const owner = new Client({ connectionString: database.url });
  await owner.connect();
  const name = new URL(database.url).pathname.slice(1);
  await owner.query(
    `set transaction_read_only = off; alter database ${name} ${isReadOnly ? 'set default_transaction_read_only = on' : 'reset all'}`,
  );
  await owner.end();
};

describe('A pool', () => {
  it('treats a read-only server as unavailable, and connects again for the next statement', async () => {
    await setReadOnly(true);
    const pool = poolOf(database.url);
    const refused = await pool.query('select 1').catch((error: unknown) => error);
    expect((refused as Error).message).toMatch(/:\d+ does not accept writes: it is a standby, or read-only$/);
    expect(isTransient(refused)).toBe(true);
    expect((await poolOf(database.url, createReplicaPool).query('select 1 as n')).rows).toEqual([{ n: 1 }]);
    await setReadOnly(false);
    await pool.query('create table t (a int)');
  });

  it('closes a connection whose server rejects a write as read-only, also within a transaction', async () => {
    const pool = poolOf(database.url);
    await pool.query('create table t (a int)');
    await pool.query('set default_transaction_read_only = on');
    await expect(pool.query('insert into t values (1)')).rejects.toMatchObject({ code: '25006' });
    await pool.query('insert into t values (1)');
    await pool.query('set default_transaction_read_only = on');
    const insert = (): Promise<unknown> =>
      inTransaction(pool, (connection) => connection.query('insert into t values (2)'));
    await expect(insert()).rejects.toMatchObject({ code: '25006' });
    await insert();
    expect((await pool.query('select a from t')).rows).toEqual([{ a: 1 }, { a: 2 }]);
  });

  it('reconnects once its address leads to a server again', async () => {
    const { proxy, url } = await startProxy(database.url);
    endings.push(() => proxy.close());
    const pool = poolOf(url);
    await Promise.all([1, 2, 3].map(() => pool.query('select pg_sleep(0.01)')));
    await proxy.close();
    expect(isTransient(await pool.query('select 1').catch((error: unknown) => error))).toBe(true);
    await proxy.open();
    await eventuallyPasses(async () => void (await pool.query('select 1')));
  });

  it('applies its timeouts and settings to each connection', async () => {
    const pool = createPool(database.url, () => {}, { statement_timeout: 200, settings: { jit: 'off' } });
    endings.push(() => pool.end());
    const settingsQuery = `select current_setting('statement_timeout') as statement, current_setting('lock_timeout') as lock,
      current_setting('idle_in_transaction_session_timeout') as idle, current_setting('jit') as jit`;
    expect((await pool.query(settingsQuery)).rows).toEqual([
      { statement: '200ms', lock: '2s', idle: '10s', jit: 'off' },
    ]);
    await expect(pool.query('select pg_sleep(60)')).rejects.toMatchObject({ code: '57014' });
  });

  it('applies its settings to each transaction behind a pooler in transaction mode, and leaves no settings behind', async () => {
    const pool = createPool(database.url, () => {}, { max: 1 });
    endings.push(() => pool.end());
    setInEachTransaction(pool, { statement_timeout: '1234', enable_sort: 'off', application_name: "the pool's" });
    const settingsQuery = `select current_setting('statement_timeout') as statement, current_setting('enable_sort') as sort,
      current_setting('application_name') as name, current_setting('transaction_isolation') as isolation`;
    const before = (await pool.query(settingsQuery)).rows[0] as object;
    const settingsWithin = async (begin?: string): Promise<object> =>
      inTransaction(pool, async (connection) => (await connection.query(settingsQuery)).rows[0] as object, begin);
    const expected = { statement: '1234ms', sort: 'off', name: "the pool's" };
    expect(await settingsWithin()).toEqual({ ...expected, isolation: 'read committed' });
    expect(await settingsWithin('begin isolation level repeatable read; set local statement_timeout = 777')).toEqual({
      ...expected,
      statement: '777ms',
      isolation: 'repeatable read',
    });
    expect((await pool.query(settingsQuery)).rows).toEqual([before]);
    expect(before).toMatchObject({ statement: '4s', sort: 'on' });
  });

  it('closes a connection after a statement has timed out, without waiting for a rollback', async () => {
    const pool = poolOf(database.url);
    let sent: { mock: { calls: unknown[][] } } | undefined;
    const unanswered = inTransaction(pool, (connection) => {
      sent = jest.spyOn(connection, 'query');
      return connection.query({ text: 'select pg_sleep(60)', query_timeout: 100 } as QueryConfig);
    });
    await expect(unanswered).rejects.toThrow('Query read timeout');
    expect(sent!.mock.calls).toHaveLength(1);
    expect(pool.totalCount).toBe(0);
  });
});
