import type { Pool } from 'pg';
import { migrate, missingMigrations, type NumberedMigration } from '../postgres/migrator.js';
import type { WriteLog } from '../runtime/log-line.js';
import * as baseline from './migrations/0023-baseline.js';

/** In order: a migration that has run anywhere is never changed, only followed by another. */
const MIGRATIONS: Record<string, NumberedMigration> = {
  '0023-baseline': baseline,
};

/**
 * Brings the read models' tables to this version.
 * @param writeLog called if the tables are of a newer version that this one can use, and if another process is at it
 * @param stop ends the waiting for that, with the tables as they are
 * @throws ConfigError if they are of a newer version that it cannot use
 */
export const migrateReadModels = async (pool: Pool, writeLog?: WriteLog, stop?: AbortSignal): Promise<void> => {
  const onWait = (): void => writeLog?.('Another process migrates the tables; waiting for it');
  const newer = await migrate(pool, 'read', MIGRATIONS, { onWait, stop });
  if (newer.length > 0)
    writeLog?.(
      `The tables were extended by a newer version of this service (${newer.join(', ')}); this version can use them`,
      'warn',
    );
};

/**
 * @returns the migrations of this version that the read models' tables do not have yet
 * @throws ConfigError if they are of a newer version that it cannot use
 */
export const missingOfReadModels = (pool: Pool): Promise<string[]> => missingMigrations(pool, 'read', MIGRATIONS);
