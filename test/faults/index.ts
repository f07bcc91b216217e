import { killedPostgres, silentPostgres } from './database-away.js';
import type { Fault } from './fault.js';
import { killedService, killedServiceAndDatabase, leftDatabase } from './killed.js';

/** Every fault that the service is put through here, as the goals number them. */
export const FAULTS: readonly Fault[] = [
  killedService,
  killedServiceAndDatabase,
  leftDatabase,
  killedPostgres,
  silentPostgres,
];
