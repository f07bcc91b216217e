import { type AssetGroupTables, ROWS_OF_ASSET_GROUPS } from './tables/asset-groups.js';
import { type AssetStatusTables, ROWS_OF_ASSET_STATUSES } from './tables/asset-statuses.js';
import { type DisputeTables, ROWS_OF_DISPUTES } from './tables/disputes.js';
import { type ErasureTables, ROWS_OF_ERASURES } from './tables/erasures.js';
import { type ListedRecordTables, ROWS_OF_LISTED_RECORDS } from './tables/listed-records.js';
import { type MetricsTables, ROWS_OF_METRICS } from './tables/metrics.js';
import type { RowsByTable } from './erasures/organization-rows.js';
import { type OrganizationTables, ROWS_OF_ORGANIZATIONS } from './tables/organizations.js';
import { type ProjectingTables, ROWS_OF_PROJECTING } from './tables/projecting.js';
import { type RequestTables, ROWS_OF_REQUESTS } from './tables/requests.js';
import { ROWS_OF_WEBHOOKS, type WebhookDeliveryTables, type WebhookTables } from './tables/webhooks.js';

/**
 * The columns of all tables. Tables without a schema prefix are in the schema `read`: projections write these tables,
 * and the service can rebuild them from the log. Tables in `service` contain data that is not in the log: the progress
 * of webhook deliveries, usage by requests, and contacts of disputes.
 */
export interface Tables
  extends
    ProjectingTables,
    MetricsTables,
    ListedRecordTables,
    DisputeTables,
    OrganizationTables,
    AssetStatusTables,
    AssetGroupTables,
    WebhookTables,
    WebhookDeliveryTables,
    RequestTables,
    ErasureTables {}

/** How the rows of an organization are found in each table. Each table is declared beside its columns. */
export const ROWS_OF_ORGANIZATION: RowsByTable<Tables> = {
  ...ROWS_OF_PROJECTING,
  ...ROWS_OF_METRICS,
  ...ROWS_OF_LISTED_RECORDS,
  ...ROWS_OF_DISPUTES,
  ...ROWS_OF_ORGANIZATIONS,
  ...ROWS_OF_ASSET_STATUSES,
  ...ROWS_OF_ASSET_GROUPS,
  ...ROWS_OF_WEBHOOKS,
  ...ROWS_OF_REQUESTS,
  ...ROWS_OF_ERASURES,
};
