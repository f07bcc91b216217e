import { killedPostgres, silentPostgres } from './database-away.js';
import { concurrentWriters } from './concurrent-writers.js';
import type { Fault } from './fault.js';
import { groupsOnEventStore, groupsOnPostgres } from './groups-killed.js';
import { killedService, killedServiceAndDatabase, leftDatabase } from './killed.js';
import { poisonEvents } from './poison.js';
import { severalProjectors } from './several-projectors.js';

/** Every fault that the service is put through here, as the goals number them. */
export const FAULTS: readonly Fault[] = [
  killedService,
  killedServiceAndDatabase,
  leftDatabase,
  killedPostgres,
  silentPostgres,
  concurrentWriters,
  poisonEvents,
  severalProjectors,
  groupsOnPostgres,
  groupsOnEventStore,
];
