import { escapeLiteral, type Pool, type PoolClient, type QueryConfig } from 'pg';
import { Kysely, PostgresDialect } from 'kysely';
import { isDataError, isReadOnly, isQueryTimeout } from './transient-errors.js';

/** Parameters of PostgreSQL, by name. */
export type Settings = Readonly<Record<string, string>>;

/** The settings of pools behind a pooler in transaction mode. Each transaction has to apply these settings again. */
const perTransaction = new WeakMap<Pool, Settings>();

export const setInEachTransaction = (pool: Pool, settings: Settings): void => void perTransaction.set(pool, settings);

/**
 * A statement that applies the settings to a connection and returns whether its server is read-only, the encoding of
 * its database and the version of its server. The settings are not sent as startup parameters, because poolers reject such parameters.
 */
export const sessionSetup = (settings: Settings): string => {
  const calls = Object.entries(settings).map(
    ([name, value]) => `set_config(${escapeLiteral(name)}, ${escapeLiteral(value)}, false)`,
  );
  return `select current_setting('transaction_read_only') = 'on' as is_read_only, current_setting('server_encoding') as encoding, current_setting('server_version_num')::int as version${calls.map((call) => `, ${call}`).join('')}`;
};

/**
 * @param begin statements that begin a transaction; the first one must be `begin`
 * @returns these statements, with the pool's settings added if its connections do not keep them
 */
const beginWithSettings = (pool: Pool, begin: string): string => {
  const settings = Object.entries(perTransaction.get(pool) ?? {});
  const local = settings.map(([name, value]) => `; set local ${name} = ${escapeLiteral(value)}`);
  return begin.replace(/^[^;]*/, (first) => first + local.join(''));
};

/**
 * Stores rows of several organizations with one call of `store`. If a row can never be stored, the rows are halved until
 * that row is alone, so that the row harms no other row.
 * @param store stores all of these rows or none of them; not called if there are no rows
 * @param onInvalid called with each row that can never be stored
 * @throws the first error of `store` that is not about the data; rows of earlier calls have been stored
 */
export const storeIsolated = async <Row>(
  rows: readonly Row[],
  store: (rows: readonly Row[]) => Promise<void>,
  onInvalid: (row: Row, error: unknown) => void,
): Promise<void> => {
  if (rows.length === 0) return;
  try {
    return await store(rows);
  } catch (error) {
    if (!isDataError(error)) throw error;
    if (rows.length === 1) return onInvalid(rows[0]!, error);
  }
  const middle = Math.ceil(rows.length / 2);
  await storeIsolated(rows.slice(0, middle), store, onInvalid);
  await storeIsolated(rows.slice(middle), store, onInvalid);
};

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
