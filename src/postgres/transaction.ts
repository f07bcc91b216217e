import { Kysely, PostgresDialect } from 'kysely';
import type { Pool, PoolClient, QueryConfig } from 'pg';
import { beginWithSettings } from './session-settings.js';
import { isReadOnly, isQueryTimeout } from './transient-errors.js';

/**
 * Runs `work` on one connection, in one transaction.
 * @param begin the statements that begin the transaction
 * @param beginLimitMs overrides the timeout of the pool for `begin`
 * @throws the error of `work`, after the transaction was rolled back; or the database's error
 */
export const inTransaction = async <Result>(
  pool: Pool,
  work: (connection: PoolClient) => Promise<Result>,
  begin = 'begin',
  beginLimitMs?: number,
): Promise<Result> => {
  const connection = await pool.connect();
  let broken: unknown;
  try {
    await connection.query({ text: beginWithSettings(pool, begin), query_timeout: beginLimitMs } as QueryConfig);
    const result = await work(connection);
    await connection.query('commit');
    return result;
  } catch (error) {
    if (isQueryTimeout(error)) broken = error;
    else
      await connection.query('rollback').catch((rollbackError: unknown) => {
        broken = rollbackError;
      });
    if (isReadOnly(error)) broken = error;
    throw error;
  } finally {
    // Close the connection if it did not answer or could not roll back, or if its server does not accept writes.
    connection.release(broken !== undefined);
  }
};

/** Creates a Kysely that uses one connection, within a transaction that the caller has begun. */
export const kyselyOver = <Tables>(connection: Pick<PoolClient, 'query'>): Kysely<Tables> => {
  const borrowed = { query: connection.query.bind(connection), release: () => {} } as unknown as PoolClient;
  const pool = { connect: () => Promise.resolve(borrowed), end: () => Promise.resolve() };
  return new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
};
