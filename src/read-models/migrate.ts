import type { Pool } from 'pg';
import { migrate, missingMigrations, type NumberedMigration } from '../postgres/migrator.js';
import type { WriteLog } from '../runtime/log-line.js';
import * as baseline from './migrations/0023-baseline.js';
import * as disputes from './migrations/0024-disputes.js';
import * as erasures from './migrations/0025-erasures.js';
import * as countedThreats from './migrations/0026-counted-threats.js';
import * as redactedDisputes from './migrations/0027-redacted-disputes.js';
import * as movedRecords from './migrations/0028-moved-records.js';

/** The migrations in order. A released migration is never changed; a new migration is added instead. */
const MIGRATIONS: Record<string, NumberedMigration> = {
  '0023-baseline': baseline,
  '0024-disputes': disputes,
  '0025-erasures': erasures,
  '0026-counted-threats': countedThreats,
  '0027-redacted-disputes': redactedDisputes,
  '0028-moved-records': movedRecords,
};

/**
 * Migrates the tables of the read models to this version.
 * @param writeLog logs that another process migrates the tables, or that a newer version has extended them
 * @param stop aborts the waiting for another process, and leaves the tables unchanged
 * @throws ConfigError if a newer version has changed the tables so that this version cannot use them
 */
export const migrateReadModels = async (pool: Pool, writeLog?: WriteLog, stop?: AbortSignal): Promise<void> => {
  const onWait = (): void => writeLog?.('Another process is migrating the tables; waiting until it has finished');
  const newer = await migrate(pool, 'read', MIGRATIONS, { onWait, stop });
  if (newer.length > 0)
    writeLog?.(
      `The tables were extended by a newer version of this service (${newer.join(', ')}); this version can use them`,
      'warn',
    );
};

/**
 * @returns the migrations of this version that have not run yet
 * @throws ConfigError if a newer version has changed the tables so that this version cannot use them
 */
export const missingReadModelMigrations = (pool: Pool): Promise<string[]> =>
  missingMigrations(pool, 'read', MIGRATIONS);
