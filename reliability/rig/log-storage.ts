import { eventStores } from '../../test/support/event-store.js';
import type { Environment } from './processes.js';
import type { RunContext } from './run-context.js';

export type LogKind = 'PostgreSQL' | 'EventStoreDB';

/** Creates a database, and an event store if the log is in EventStoreDB. @returns the settings of the service */
export const openLogStorage = async (context: RunContext, kind: LogKind): Promise<Environment> => {
  const { url } = await context.database({ migrated: false });
  if (kind === 'PostgreSQL') return { DATABASE_URL: url };
  const store = await eventStores.at(-1)!.open();
  context.onEnd(() => store.release());
  return { DATABASE_URL: url, EVENTSTORE_URL: store.url };
};
