import type { DatabaseTime } from '../../src/event-log/eventstoredb/log.js';

/** The clock of this machine as the clock of the database. */
export const thisClock: DatabaseTime = { read: async () => Date.now(), close: async () => {} };
