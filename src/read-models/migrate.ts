import type { Migration } from 'kysely';
import type { Pool } from 'pg';
import { migrate } from '../postgres/migrator.js';
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

/** In order: a migration that has run anywhere is never changed, only followed by another. */
const MIGRATIONS: Record<string, Migration> = {
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
};

/** Brings the read models' tables to this version. */
export const migrateReadModels = (pool: Pool): Promise<void> => migrate(pool, 'read', MIGRATIONS);
