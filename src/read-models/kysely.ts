import { Kysely, PostgresDialect, type Transaction } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import type { Tables } from './tables.js';

/** The read models, by the names in `tables.ts`. What is asked often is compiled once instead (`compiled.ts`). */
export const createReadModels = (pool: Pool): Kysely<Tables> =>
  new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) }).withSchema('read');

/** The read models over one connection, whose transaction and search path somebody else set. */
export const readModelsOver = (connection: PoolClient): Transaction<Tables> => {
  const borrowed = { query: connection.query.bind(connection), release: () => {} } as unknown as PoolClient;
  const pool = { connect: () => Promise.resolve(borrowed), end: () => Promise.resolve() };
  return new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) }) as unknown as Transaction<Tables>;
};
