import { eventStores } from '../../support/event-store.js';
import { createDatabase } from '../../support/postgres.js';
import type { Environment } from './processes.js';
import type { Scene } from './scene.js';

export type LogKind = 'PostgreSQL' | 'EventStoreDB';

/** A database, and beside it the event store if the log is there: a real one if the run is told of one. */
export const openGround = async (scene: Scene, kind: LogKind): Promise<Environment> => {
  const database = await createDatabase({ migrated: false });
  scene.later(() => database.drop());
  if (kind === 'PostgreSQL') return { DATABASE_URL: database.url };
  const store = await eventStores.at(-1)!.open();
  scene.later(() => store.release());
  return { DATABASE_URL: database.url, EVENTSTORE_URL: store.url };
};
