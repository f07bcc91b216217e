import { Config } from '../runtime/config.js';
import { databaseTime } from '../postgres/clock.js';
import { createPool } from '../postgres/pool.js';
import type { EventLog } from './event-log.js';
import { createPostgresLog } from './postgres/log.js';
import { traceAppends } from './traced-appends.js';

/** The log that the settings name, opened: ready to append and read. */
export const openEventLog = async (config: Config): Promise<EventLog> => {
  if (config.eventStoreUrl !== undefined) {
    // Loaded only if used: its client takes a third of a second and tens of megabytes.
    const { createEventStoreDbLog } = await import('./eventstoredb/log.js');
    // Connects only if somebody follows the log.
    const pool = createPool(config.databaseUrl!, undefined, { max: 1 });
    const clock = { read: () => databaseTime(pool), close: () => pool.end() };
    return traceAppends(await createEventStoreDbLog(config.eventStoreUrl, clock));
  }
  // One writes; the others read the tails of groups' streams.
  const [pool, followers] = [6, 2].map((max) => createPool(config.databaseUrl!, undefined, { max }));
  return traceAppends(await createPostgresLog(pool!, followers, config.migrates));
};
