import { migrateReadModels, missingReadModelMigrations } from './migrate.js';
import { createPool } from '../postgres/pool.js';
import { isTransient } from '../postgres/transient-errors.js';
import { requireSessions } from '../postgres/require-sessions.js';
import { asConfigError } from '../postgres/unusable-database.js';
import type { Pool } from 'pg';
import type { Config } from '../runtime/config.js';
import type { WriteLog } from '../runtime/log-line.js';
import { Backoff, pause } from '../flow/retry.js';

const MIN_BACKOFF_MS = 250;
const MAX_BACKOFF_MS = 5_000;
/** How often a process with MIGRATE_ON_START=false checks whether the tables have been migrated. */
const CHECK_INTERVAL_MS = 1_000;

const awaitTables = async (pool: Pool, writeLog: WriteLog, stop?: AbortSignal): Promise<void> => {
  let hasWaited = false;
  while (!stop?.aborted) {
    const [first] = await missingReadModelMigrations(pool);
    if (first === undefined) {
      if (hasWaited) writeLog('The tables have been migrated to this version of the service');
      return;
    }
    if (!hasWaited)
      writeLog(
        `The tables lack the migration ${first}; waiting until \`migrate\` of this version of the service has run (MIGRATE_ON_START is false)`,
        'warn',
      );
    hasWaited = true;
    await pause(CHECK_INTERVAL_MS, stop);
  }
};

/**
 * Migrates the tables to this version, or waits until another process has migrated them. Retries while the database is
 * unavailable.
 * @param stop aborts the waiting, and leaves the tables unchanged
 * @throws ConfigError if the database or its tables cannot be used by this version
 */
export const prepareTables = async (
  {
    databaseUrl,
    databaseDirectUrl,
    migrates,
  }: Pick<Config, 'databaseUrl' | 'migrates'> & Partial<Pick<Config, 'databaseDirectUrl'>>,
  writeLog: WriteLog,
  stop?: AbortSignal,
): Promise<void> => {
  const url = databaseUrl!;
  let wasUnavailable = false;
  const backoff = new Backoff(MIN_BACKOFF_MS, MAX_BACKOFF_MS);
  while (!stop?.aborted) {
    const wait = backoff.next();
    const pool = createPool(url, undefined, { max: 2 });
    try {
      await requireSessions(url, { databaseDirectUrl });
      await (migrates ? migrateReadModels(pool, writeLog, stop) : awaitTables(pool, writeLog, stop));
      if (wasUnavailable) writeLog('The database is available again');
      return;
    } catch (error) {
      if (!isTransient(error)) throw asConfigError(error);
      wasUnavailable = true;
      writeLog(`The database is unavailable: ${(error as Error).message}; retrying in ${wait} ms`, 'warn');
    } finally {
      await pool.end();
    }
    await pause(wait, stop);
  }
};
