import { migrateReadModels } from './migrate.js';
import { createPool } from '../postgres/pool.js';
import { isTransient } from '../postgres/transient-errors.js';
import { Backoff, pause } from '../retry.js';

const FIRST_BACK_OFF_MS = 250;
const MAX_BACK_OFF_MS = 5_000;

/**
 * Brings the tables to this version, however long the database takes to come.
 * @param stop ends the waiting, with the tables as they are
 */
export const prepareTables = async (url: string, log: (line: string) => void, stop?: AbortSignal): Promise<void> => {
  const backoff = new Backoff(FIRST_BACK_OFF_MS, MAX_BACK_OFF_MS);
  while (!stop?.aborted) {
    const wait = backoff.next();
    const pool = createPool(url, () => undefined, { max: 1 });
    try {
      return await migrateReadModels(pool);
    } catch (error) {
      if (!isTransient(error)) throw error;
      log(`The database is unavailable: ${(error as Error).message}; retrying in ${wait} ms`);
    } finally {
      await pool.end();
    }
    await pause(wait, stop);
  }
};
