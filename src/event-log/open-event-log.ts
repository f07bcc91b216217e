import { Config } from '../runtime/config.js';
import { databaseTime } from '../postgres/clock.js';
import { createPool } from '../postgres/pool.js';
import type { EventLog } from './event-log.js';
import { createPostgresLog } from './postgres/log.js';
import { traceAppends } from './traced-appends.js';

/** Opens the log that the settings name. */
export const openEventLog = async (config: Config): Promise<EventLog> => {
  if (config.eventStoreUrl !== undefined) {
    // Loaded on demand, because loading the client takes a third of a second and tens of megabytes.
    const { createEventStoreDbLog } = await import('./eventstoredb/log.js');
    // The pool connects only when a subscription reads the clock.
    const pool = createPool(config.databaseUrl!, undefined, { max: 1 });
    const clock = { read: () => databaseTime(pool), close: () => pool.end() };
    return traceAppends(await createEventStoreDbLog(config.eventStoreUrl, clock));
  }
  // One of the six connections appends. The other five read, for example, the ends of the streams of groups.
  const [pool, subscriptionPool] = [6, 2].map((max) => createPool(config.databaseUrl!, undefined, { max }));
  return traceAppends(await createPostgresLog(pool!, subscriptionPool, config.migrates));
};
