import { eventStores } from '../../test/support/event-store.js';
import type { Environment } from './processes.js';
import type { Scene } from './scene.js';

export type LogKind = 'PostgreSQL' | 'EventStoreDB';

/** A database, and beside it the event store if the log is there: a real one if the run is told of one. */
export const openGround = async (scene: Scene, kind: LogKind): Promise<Environment> => {
  const { url } = await scene.database({ migrated: false });
  if (kind === 'PostgreSQL') return { DATABASE_URL: url };
  const store = await eventStores.at(-1)!.open();
  scene.later(() => store.release());
  return { DATABASE_URL: url, EVENTSTORE_URL: store.url };
};
