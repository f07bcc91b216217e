import type { AssetGroupTables } from './tables/asset-groups.js';
import type { AssetStatusTables } from './tables/asset-statuses.js';
import type { ListedRecordTables } from './tables/listed-records.js';
import type { MetricsTables } from './tables/metrics.js';
import type { OrganizationTables } from './tables/organizations.js';
import type { ProjectingTables } from './tables/projecting.js';
import type { RequestTables } from './tables/requests.js';
import type { WebhookTables } from './tables/webhooks.js';

/**
 * The schema `read`. The read models, which only projections write, can be dropped and rebuilt from the log; the tables
 * of requests and of deliveries are written by this service itself and start empty again.
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
    RequestTables {}
