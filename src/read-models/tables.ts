import type { AssetGroupTables } from './tables/asset-groups.js';
import type { AssetStatusTables } from './tables/asset-statuses.js';
import type { DisputeTables } from './tables/disputes.js';
import type { ListedRecordTables } from './tables/listed-records.js';
import type { MetricsTables } from './tables/metrics.js';
import type { OrganizationTables } from './tables/organizations.js';
import type { ProjectingTables } from './tables/projecting.js';
import type { RequestTables } from './tables/requests.js';
import type { WebhookDeliveryTables, WebhookTables } from './tables/webhooks.js';

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
    RequestTables {}
