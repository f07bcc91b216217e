import type { Pool } from 'pg';
import { migrate, missingMigrations, type NumberedMigration } from '../postgres/migrator.js';
import type { Tell } from '../runtime/log-line.js';
import * as projections from './migrations/0001-projections.js';
import * as metrics from './migrations/0002-metrics.js';
import * as brandsAndFlags from './migrations/0003-brands-and-flags.js';
import * as assetStatuses from './migrations/0004-asset-statuses.js';
import * as assetGroups from './migrations/0005-asset-groups.js';
import * as lastEvent from './migrations/0006-last-event.js';
import * as typeBlocks from './migrations/0007-type-blocks.js';
import * as ingestUsage from './migrations/0008-ingest-usage.js';
import * as keyUses from './migrations/0009-key-uses.js';
import * as rejectedEvents from './migrations/0010-rejected-events.js';
import * as takedowns from './migrations/0011-takedowns.js';
import * as membersAndReviews from './migrations/0012-members-and-reviews.js';
import * as records from './migrations/0013-records.js';
import * as rowVersions from './migrations/0014-row-versions.js';
import * as webhooks from './migrations/0015-webhooks.js';
import * as webhookOutcomes from './migrations/0016-webhook-outcomes.js';
import * as sentEvents from './migrations/0017-sent-events.js';
import * as lostInRebuilds from './migrations/0018-lost-in-rebuilds.js';
import * as serviceSchema from './migrations/0020-service-schema.js';
import * as organizationsOfParkedEvents from './migrations/0021-organizations-of-parked-events.js';
import * as eventOfWebhookProgress from './migrations/0022-event-of-webhook-progress.js';
import * as items from './migrations/0023-items.js';
import * as webhooksAsJson from './migrations/0024-webhooks-as-json.js';

/** In order: a migration that has run anywhere is never changed, only followed by another. */
const MIGRATIONS: Record<string, NumberedMigration> = {
  '0001-projections': projections,
  '0002-metrics': metrics,
  '0003-brands-and-flags': brandsAndFlags,
  '0004-asset-statuses': assetStatuses,
  '0005-asset-groups': assetGroups,
  '0006-last-event': lastEvent,
  '0007-type-blocks': typeBlocks,
  '0008-ingest-usage': ingestUsage,
  '0009-key-uses': keyUses,
  '0010-rejected-events': rejectedEvents,
  '0011-takedowns': takedowns,
  '0012-members-and-reviews': membersAndReviews,
  '0013-records': records,
  '0014-row-versions': rowVersions,
  '0015-webhooks': webhooks,
  '0016-webhook-outcomes': webhookOutcomes,
  '0017-sent-events': sentEvents,
  '0018-lost-in-rebuilds': lostInRebuilds,
  '0020-service-schema': serviceSchema,
  '0021-organizations-of-parked-events': organizationsOfParkedEvents,
  '0022-event-of-webhook-progress': eventOfWebhookProgress,
  '0023-items': items,
  '0024-webhooks-as-json': webhooksAsJson,
};

/**
 * Brings the read models' tables to this version.
 * @param tell told if the tables are of a newer version that this one can use, and if another process is at it
 * @param stop ends the waiting for that, with the tables as they are
 * @throws ConfigError if they are of a newer version that it cannot use
 */
export const migrateReadModels = async (pool: Pool, tell?: Tell, stop?: AbortSignal): Promise<void> => {
  const onWait = (): void => tell?.('Another process migrates the tables; waiting for it');
  const newer = await migrate(pool, 'read', MIGRATIONS, { onWait, stop });
  if (newer.length > 0)
    tell?.(
      `The tables were extended by a newer version of this service (${newer.join(', ')}); this version can use them`,
      'warn',
    );
};

/**
 * @returns the migrations of this version that the read models' tables do not have yet
 * @throws ConfigError if they are of a newer version that it cannot use
 */
export const missingOfReadModels = (pool: Pool): Promise<string[]> => missingMigrations(pool, 'read', MIGRATIONS);
