import { randomBytes } from 'node:crypto';
import { Client } from 'pg';

/** An event store for one spec. */
export interface TestEventStore {
  /** What to call it in the name of a test. */
  readonly name: string;
  /** A connection string to streams no one else has. */
  readonly url: string;
  release(): Promise<void>;
}

/** Specs that use a server side by side hold this lock shared; one that kills the server holds it alone. */
const LOCK = 2113_0001;

/** Holds the run's server, on the run's PostgreSQL because specs are processes of their own; the lock is the session's. */
export const holdServer = async (how: 'shared' | 'alone'): Promise<() => Promise<void>> => {
  const client = new Client({ connectionString: process.env['TEST_DATABASE_URL'] });
  await client.connect();
  await client.query(`select pg_advisory_lock${how === 'shared' ? '_shared' : ''}(${LOCK})`);
  return () => client.end();
};

/** The connection string of a log apart from others in the store. */
export const withPrefix = (url: string, prefix: string): string =>
  `${url}${url.includes('?') ? '&' : '?'}streamPrefix=${prefix}`;

/** Streams that are one spec's own: others write to the same server. */
export const ownStreams = (url: string): string => withPrefix(url, `test.${randomBytes(6).toString('hex')}.`);

const double = {
  name: 'a double of EventStoreDB',
  open: async (): Promise<TestEventStore> => {
    // Here, because few specs need it, and gRPC takes a while to load.
    const { EventStoreDouble } = await import('./eventstore-double/server.js');
    const server = await EventStoreDouble.start();
    return { name: double.name, url: server.url, release: () => server.stop() };
  },
};

const server = (url: string) => ({
  name: 'EventStoreDB',
  open: async (): Promise<TestEventStore> => {
    const release = await holdServer('shared');
    return { name: 'EventStoreDB', url: ownStreams(url), release };
  },
});

const serverUrl = process.env['TEST_EVENTSTORE_URL'];

/** How often each fault happens in a spec: the goals ask for five of a real server, and twice shows what a double shows. */
export const FAULT_ROUNDS = serverUrl === undefined ? 2 : 5;

/** The double, and a real server where the run is told of one (`TEST_EVENTSTORE_URL`). */
export const eventStores: readonly { readonly name: string; readonly open: () => Promise<TestEventStore> }[] = serverUrl
  ? [double, server(serverUrl)]
  : [double];

const shared = new Map<string, { readonly opened: Promise<TestEventStore>; users: number }>();

/**
 * The event store beside a database, where a spec wants its log there (`TEST_LOG=EventStoreDB`): the real one if the
 * run is told of one. Whoever uses the same database has the same store.
 */
export const eventStoreBeside = async (databaseUrl: string): Promise<TestEventStore | undefined> => {
  if (process.env['TEST_LOG'] !== 'EventStoreDB') return undefined;
  const entry = shared.get(databaseUrl) ?? { opened: eventStores.at(-1)!.open(), users: 0 };
  shared.set(databaseUrl, entry);
  entry.users++;
  const store = await entry.opened;
  return {
    ...store,
    release: async () => {
      if (--entry.users > 0) return;
      shared.delete(databaseUrl);
      await store.release();
    },
  };
};
