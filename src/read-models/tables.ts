import type { AssetGroupTables } from './tables/asset-groups.js';
import type { AssetStatusTables } from './tables/asset-statuses.js';
import type { ListedRecordTables } from './tables/listed-records.js';
import type { MetricsTables } from './tables/metrics.js';
import type { OrganizationTables } from './tables/organizations.js';
import type { ProjectingTables } from './tables/projecting.js';
import type { RequestTables } from './tables/requests.js';
import type { WebhookDeliveryTables, WebhookTables } from './tables/webhooks.js';

/**
 * The tables, by the names that queries have for them. Those without a schema are in `read`: what projections write, which
 * can be dropped and is rebuilt from the log. Those in `service` hold what the log does not: where deliveries are, and
 * what requests leave behind.
 */
export interface Tables
  extends
    ProjectingTables,
    MetricsTables,
    ListedRecordTables,
    OrganizationTables,
    AssetStatusTables,
    AssetGroupTables,
    WebhookTables,
    WebhookDeliveryTables,
    RequestTables {}
