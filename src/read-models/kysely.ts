import { Kysely, PostgresDialect, type Transaction } from 'kysely';
import type { Pool, PoolClient, QueryResult } from 'pg';
import { kyselyOver } from '../postgres/transaction.js';
import { asUnavailable } from '../postgres/transient-errors.js';
import type { Tables } from './tables.js';

/**
 * As `pool.query` does it: a connection on which a statement failed is closed, and not given to anybody else. Throws
 * `Unavailable` if the database is away.
 */
const closingFailed = (pool: Pool): Pick<Pool, 'connect' | 'end'> => {
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

/** The read models, by the names in `tables.ts`, for operators' lists; requests use `statement` (`src/postgres/statement.ts`). */
export const createReadModels = (pool: Pool): Kysely<Tables> =>
  new Kysely<Tables>({ dialect: new PostgresDialect({ pool: closingFailed(pool) }) }).withSchema('read');

/** The read models over one connection, whose transaction and search path somebody else set. */
export const readModelsOver = (connection: PoolClient): Transaction<Tables> =>
  kyselyOver<Tables>(connection) as Transaction<Tables>;
