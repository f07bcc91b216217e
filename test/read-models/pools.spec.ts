import { describe, expect, it } from '@jest/globals';
import type { Pool } from 'pg';
import { Unavailable } from '../../src/errors.js';
import { isStatementTimeout } from '../../src/postgres/transient-errors.js';
import { createReadModels } from '../../src/read-models/tables.js';
import { createMetricsPool, createRequestPool, createWatchPool } from '../../src/read-models/pools.js';
import { sharedDatabase } from '../support/open-for-tests.js';

const CREATE = { createRequestPool, createMetricsPool, createWatchPool };

const database = sharedDatabase();

const failureOf = async (attempt: Promise<unknown>): Promise<unknown> =>
  attempt.then(
    () => undefined,
    (error) => error,
  );

describe.each(Object.entries(CREATE))('A pool of the API (%s)', (_, create: (url: string) => Pool) => {
  it.each([
    ['socket is missing', 'postgresql:///none?host=/nowhere'],
    ['port is closed', 'postgresql://127.0.0.1:1/none'],
  ])('throws Unavailable if the %s', async (_, url) => {
    const pool = create(url);
    const statements = [pool.query('select 1'), createReadModels(pool).selectFrom('brands').selectAll().execute()];
    for (const statement of statements) expect(await failureOf(statement)).toBeInstanceOf(Unavailable);
    await pool.end();
    expect(await failureOf(pool.query('select 1'))).toBeInstanceOf(Unavailable);
  });

  it('throws the error of the database if a statement is wrong', async () => {
    const pool = create(database.url);
    expect(await failureOf(pool.query('select nothing'))).toMatchObject({ code: '42703' });
    const failure = await failureOf(pool.query('set statement_timeout = 10; select pg_sleep(5)'));
    expect(failure).toBeInstanceOf(Unavailable);
    expect(isStatementTimeout(failure)).toBe(true);
    expect((await pool.query<{ one: number }>('select 1 as one')).rows).toEqual([{ one: 1 }]);
    await pool.end();
  });
});
