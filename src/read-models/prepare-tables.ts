import { migrateReadModels } from './migrate.js';
import { createPool } from '../postgres/pool.js';
import { isTransient } from '../postgres/transient-errors.js';
import { asConfigError, refuseTransactionPooler } from '../postgres/unusable-database.js';
import type { Tell } from '../runtime/log-line.js';
import { Backoff, pause } from '../flow/retry.js';

const FIRST_BACK_OFF_MS = 250;
const MAX_BACK_OFF_MS = 5_000;

/**
 * Brings the tables to this version, however long the database takes to come.
 * @param stop ends the waiting, with the tables as they are
 * @throws ConfigError if the database will not do, however long it is waited for
 */
export const prepareTables = async (url: string, tell: Tell, stop?: AbortSignal): Promise<void> => {
  let wasAway = false;
  const backoff = new Backoff(FIRST_BACK_OFF_MS, MAX_BACK_OFF_MS);
  while (!stop?.aborted) {
    const wait = backoff.next();
    const pool = createPool(url, () => undefined, { max: 2 });
    try {
      await refuseTransactionPooler(pool);
      await migrateReadModels(pool, tell);
      if (wasAway) tell('The database is available again');
      return;
    } catch (error) {
      if (!isTransient(error)) throw asConfigError(error);
      wasAway = true;
      tell(`The database is unavailable: ${(error as Error).message}; retrying in ${wait} ms`, 'warn');
    } finally {
      await pool.end();
    }
    await pause(wait, stop);
  }
};
