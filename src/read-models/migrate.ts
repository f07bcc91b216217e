import { Kysely, type Migration, Migrator, PostgresDialect } from 'kysely';
import type { Pool } from 'pg';
import * as projections from './migrations/0001-projections.js';
import * as metrics from './migrations/0002-metrics.js';
import * as brandsAndFlags from './migrations/0003-brands-and-flags.js';
import * as assetStatuses from './migrations/0004-asset-statuses.js';
import * as assetGroups from './migrations/0005-asset-groups.js';
import * as lastEvent from './migrations/0006-last-event.js';
import * as typeBlocks from './migrations/0007-type-blocks.js';
import * as ingestUsage from './migrations/0008-ingest-usage.js';

/** In order, for ever: a migration that has run anywhere is never changed, only followed by another. */
const MIGRATIONS: Record<string, Migration> = {
  '0001-projections': projections,
  '0002-metrics': metrics,
  '0003-brands-and-flags': brandsAndFlags,
  '0004-asset-statuses': assetStatuses,
  '0005-asset-groups': assetGroups,
  '0006-last-event': lastEvent,
  '0007-type-blocks': typeBlocks,
  '0008-ingest-usage': ingestUsage,
};

/**
 * Brings one schema's tables to this version. Every process does it at its start; a lock in the database lets one at
 * a time, and the whole step is one transaction, so that one killed in the middle has done nothing.
 * @throws what the database said of the migration that failed
 */
export const migrate = async (
  pool: Pool,
  schema = 'read',
  migrations: Record<string, Migration> = MIGRATIONS,
): Promise<void> => {
  const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) });
  const migrator = new Migrator({
    db,
    provider: { getMigrations: () => Promise.resolve(migrations) },
    migrationTableSchema: schema,
    migrationTableName: 'migrations',
    migrationLockTableName: 'migrations_lock',
  });
  const { error } = await migrator.migrateToLatest();
  if (error !== undefined) throw error;
};
