import type { DatabaseClock } from '../../src/event-log/eventstoredb/log.js';

/** The clock of this machine as the clock of the database. */
export const thisClock: DatabaseClock = { now: async () => Date.now(), close: async () => {} };
