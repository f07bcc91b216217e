import { Kysely, PostgresDialect, type Transaction } from 'kysely';
import type { Pool, PoolClient, QueryResult } from 'pg';
import {
  type AssetGroupTables,
  ROWS_OF_ASSET_GROUPS,
  type OrganizationTables,
  ROWS_OF_ORGANIZATIONS,
  ROWS_OF_WEBHOOKS,
  type WebhookDeliveryTables,
  type WebhookTables,
} from './tables/organizations.js';
import { type AssetStatusTables, ROWS_OF_ASSET_STATUSES } from './tables/asset-statuses.js';
import {
  type DisputeTables,
  ROWS_OF_DISPUTES,
  type RegisterTables,
  ROWS_OF_REGISTER,
  type MetricsTables,
  ROWS_OF_METRICS,
} from './tables/records.js';
import {
  type ClockTables,
  type ErasureTables,
  ROWS_OF_CLOCKS,
  ROWS_OF_ERASURES,
  type RequestTables,
  ROWS_OF_REQUESTS,
} from './tables/operations.js';
import { type ListTables, ROWS_OF_LISTS } from './tables/lists.js';
import type { RowsByTable } from './organization-rows.js';
import { type ProjectingTables, ROWS_OF_PROJECTING } from './tables/projecting.js';
import { kyselyOver } from '../postgres/transaction.js';
import { asUnavailable } from '../postgres/transient-errors.js';

/**
 * The columns of all tables. Tables without a schema prefix are in the schema `read`: projections write these tables,
 * and the service can rebuild them from the log. Tables in `service` contain data that is not in the log: the progress
 * of webhook deliveries, usage by requests, contacts of disputes, and the versions of local lists.
 */
export interface Tables
  extends
    ProjectingTables,
    MetricsTables,
    RegisterTables,
    DisputeTables,
    OrganizationTables,
    AssetStatusTables,
    AssetGroupTables,
    WebhookTables,
    WebhookDeliveryTables,
    RequestTables,
    ErasureTables,
    ClockTables,
    ListTables {}

/** How the rows of an organization are found in each table. Each table is declared beside its columns. */
export const ROWS_OF_ORGANIZATION: RowsByTable<Tables> = {
  ...ROWS_OF_PROJECTING,
  ...ROWS_OF_METRICS,
  ...ROWS_OF_REGISTER,
  ...ROWS_OF_DISPUTES,
  ...ROWS_OF_ORGANIZATIONS,
  ...ROWS_OF_ASSET_STATUSES,
  ...ROWS_OF_ASSET_GROUPS,
  ...ROWS_OF_WEBHOOKS,
  ...ROWS_OF_REQUESTS,
  ...ROWS_OF_ERASURES,
  ...ROWS_OF_CLOCKS,
  ...ROWS_OF_LISTS,
};

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
