import type { Pool } from 'pg';
import { migrate, missingMigrations, type NumberedMigration } from '../postgres/migrator.js';
import type { WriteLog } from '../runtime/log-line.js';
import * as baseline from './migrations/0023-baseline.js';
import * as disputes from './migrations/0024-disputes.js';
import * as erasures from './migrations/0025-erasures.js';
import * as countedThreats from './migrations/0026-counted-threats.js';
import * as redactedDisputes from './migrations/0027-redacted-disputes.js';
import * as movedRecords from './migrations/0028-moved-records.js';
import * as expiringRows from './migrations/0029-expiring-rows.js';
import * as countedThreatDays from './migrations/0030-counted-threat-days.js';
import * as taxiiObjects from './migrations/0032-taxii-objects.js';
import * as restatement from './migrations/0033-restatement.js';
import * as entryHistories from './migrations/0034-entry-histories.js';
import * as changedThreats from './migrations/0035-changed-threats.js';
import * as boundedTimes from './migrations/0036-bounded-times.js';
import * as register from './migrations/0037-register.js';
import * as expiringStatuses from './migrations/0038-expiring-statuses.js';
import * as localLists from './migrations/0039-local-lists.js';
import { createPool, requireSessions } from '../postgres/pool.js';
import { isTransient, asConfigError } from '../postgres/transient-errors.js';
import { type Config, ConfigError } from '../runtime/config.js';
import { Backoff, pause } from '../flow/time.js';

/** The migrations in order. A released migration is never changed; a new migration is added instead. */
const MIGRATIONS: Record<string, NumberedMigration> = {
  '0023-baseline': baseline,
  '0024-disputes': disputes,
  '0025-erasures': erasures,
  '0026-counted-threats': countedThreats,
  '0027-redacted-disputes': redactedDisputes,
  '0028-moved-records': movedRecords,
  '0029-expiring-rows': expiringRows,
  '0030-counted-threat-days': countedThreatDays,
  '0032-taxii-objects': taxiiObjects,
  '0033-restatement': restatement,
  '0034-entry-histories': entryHistories,
  '0035-changed-threats': changedThreats,
  '0036-bounded-times': boundedTimes,
  '0037-register': register,
  '0038-expiring-statuses': expiringStatuses,
  '0039-local-lists': localLists,
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
 * unavailable. This is the first connection of a process, which ends it if the database refuses the settings.
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
      const reason = asConfigError(error);
      if (reason instanceof ConfigError || !isTransient(error)) throw reason;
      wasUnavailable = true;
      writeLog(`The database is unavailable: ${(error as Error).message}; retrying in ${wait} ms`, 'warn');
    } finally {
      await pool.end();
    }
    await pause(wait, stop);
  }
};
