import { migrateReadModels, missingOfReadModels } from './migrate.js';
import { createPool } from '../postgres/pool.js';
import { isTransient } from '../postgres/transient-errors.js';
import { requireSessions } from '../postgres/require-sessions.js';
import { asConfigError } from '../postgres/unusable-database.js';
import type { Pool } from 'pg';
import type { Config } from '../runtime/config.js';
import type { WriteLog } from '../runtime/log-line.js';
import { Backoff, pause } from '../flow/retry.js';

const FIRST_BACK_OFF_MS = 250;
const MAX_BACK_OFF_MS = 5_000;
/** How often a process that leaves the tables to `migrate` looks whether they are ready. ms */
const LOOKS_EVERY_MS = 1_000;

const awaitTables = async (pool: Pool, writeLog: WriteLog, stop?: AbortSignal): Promise<void> => {
  let hasWaited = false;
  while (!stop?.aborted) {
    const [first] = await missingOfReadModels(pool);
    if (first === undefined) {
      if (hasWaited) writeLog('The tables are at this version');
      return;
    }
    if (!hasWaited)
      writeLog(`The tables lack ${first}; waiting for \`migrate\` of this version (MIGRATE_ON_START is false)`, 'warn');
    hasWaited = true;
    await pause(LOOKS_EVERY_MS, stop);
  }
};

/**
 * Brings the tables to this version, or waits until they are, however long the database takes to come.
 * @param stop ends the waiting, with the tables as they are
 * @throws ConfigError if the database will not do, however long it is waited for
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
  let wasAway = false;
  const backoff = new Backoff(FIRST_BACK_OFF_MS, MAX_BACK_OFF_MS);
  while (!stop?.aborted) {
    const wait = backoff.next();
    const pool = createPool(url, undefined, { max: 2 });
    try {
      await requireSessions(url, { databaseDirectUrl });
      await (migrates ? migrateReadModels(pool, writeLog, stop) : awaitTables(pool, writeLog, stop));
      if (wasAway) writeLog('The database is available again');
      return;
    } catch (error) {
      if (!isTransient(error)) throw asConfigError(error);
      wasAway = true;
      writeLog(`The database is unavailable: ${(error as Error).message}; retrying in ${wait} ms`, 'warn');
    } finally {
      await pool.end();
    }
    await pause(wait, stop);
  }
};
