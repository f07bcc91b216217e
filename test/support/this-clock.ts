import type { DatabaseTime } from '../../src/event-log/eventstoredb/log.js';

/** Uses the clock of this machine instead of the database's clock. */
export const thisClock: DatabaseTime = { read: async () => Date.now(), close: async () => {} };
