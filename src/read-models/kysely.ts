import { Kysely, PostgresDialect, type Transaction } from 'kysely';
import type { Pool, PoolClient, QueryResult } from 'pg';
import { kyselyOver } from '../postgres/transaction.js';
import { asUnavailable } from '../postgres/transient-errors.js';
import type { Tables } from './tables.js';

/**
 * Closes a connection on which a statement failed instead of returning it to the pool, as `pool.query` does. Throws
 * `Unavailable` if the database is unavailable.
 */
const closeOnError = (pool: Pool): Pick<Pool, 'connect' | 'end'> => {
  const connect = async (): Promise<PoolClient> => {
    const connection = await pool.connect().catch((error: unknown) => {
      throw asUnavailable(error);
    });
    let failed: Error | undefined;
    const query = async (text: string, values: unknown[]): Promise<QueryResult> => {
      try {
        return await connection.query(text, values);
      } catch (error) {
        failed = error as Error;
        throw asUnavailable(error);
      }
    };
    return { query, release: () => connection.release(failed) } as unknown as PoolClient;
  };
  return { connect, end: () => pool.end() } as Pick<Pool, 'connect' | 'end'>;
};

/** The read models in Kysely, for lists that operators read. Requests use `statement` (`src/postgres/statement.ts`). */
export const createReadModels = (pool: Pool): Kysely<Tables> =>
  new Kysely<Tables>({ dialect: new PostgresDialect({ pool: closeOnError(pool) }) }).withSchema('read');

/** The read models on one connection, in the transaction and with the search path of the caller. */
export const readModelsOver = (connection: PoolClient): Transaction<Tables> =>
  kyselyOver<Tables>(connection) as Transaction<Tables>;
