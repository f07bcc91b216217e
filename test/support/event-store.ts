import { randomBytes } from 'node:crypto';
import { Client } from 'pg';

/** An event store for one spec. */
export interface TestEventStore {
  /** The name of the store in test titles. */
  readonly name: string;
  /** A connection string with a stream prefix that no other spec uses. */
  readonly url: string;
  /** Starts to remove deleted events, as an operator does on each node. */
  scavenge(): Promise<void>;
  release(): Promise<void>;
}

/** Specs that use the server hold this lock in shared mode; a spec that kills the server holds it exclusively. */
const LOCK = 2113_0001;

/**
 * Locks the EventStoreDB server with an advisory lock on the PostgreSQL of the test run. @returns a function that
 * unlocks
 */
export const holdServer = async (how: 'shared' | 'alone'): Promise<() => Promise<void>> => {
  const client = new Client({ connectionString: process.env['TEST_DATABASE_URL'] });
  await client.connect();
  await client.query(`select pg_advisory_lock${how === 'shared' ? '_shared' : ''}(${LOCK})`);
  return () => client.end();
};

/** Adds a stream prefix to a connection string. */
export const withPrefix = (url: string, prefix: string): string =>
  `${url}${url.includes('?') ? '&' : '?'}streamPrefix=${prefix}`;

/** Adds a random stream prefix to a connection string, because other specs write to the same server. */
export const ownStreams = (url: string): string => withPrefix(url, `test.${randomBytes(6).toString('hex')}.`);

const double = {
  name: 'a double of EventStoreDB',
  open: async (): Promise<TestEventStore> => {
    // Imported only here, because few specs need the double and gRPC loads slowly.
    const { EventStoreDouble } = await import('./eventstore-double/server.js');
    const server = await EventStoreDouble.start();
    return {
      name: double.name,
      url: server.url,
      scavenge: async () => server.store.scavenge(),
      release: () => server.stop(),
    };
  },
};

/** Starts a scavenge of a single node without TLS. The scavenge takes a second. */
const scavengeServer = async (url: string): Promise<void> => {
  const base = url.replace(/^esdb:/, 'http:').replace(/\?.*$/, '');
  const { status } = await fetch(`${base}/admin/scavenge`, { method: 'POST' });
  if (status !== 200) throw new Error(`The server answered the scavenge with ${status}`);
};

const server = (url: string) => ({
  name: 'EventStoreDB',
  open: async (): Promise<TestEventStore> => {
    const release = await holdServer('shared');
    return { name: 'EventStoreDB', url: ownStreams(url), scavenge: () => scavengeServer(url), release };
  },
});

const serverUrl = process.env['TEST_EVENTSTORE_URL'];

/** How often each fault happens in a spec: five times with a real server, twice with the double. */
export const FAULT_ROUNDS = serverUrl === undefined ? 2 : 5;

/** The double, and the real server of `TEST_EVENTSTORE_URL` if it is set. */
export const eventStores: readonly { readonly name: string; readonly open: () => Promise<TestEventStore> }[] = serverUrl
  ? [double, server(serverUrl)]
  : [double];

const shared = new Map<string, { readonly opened: Promise<TestEventStore>; users: number }>();

/**
 * Returns the event store of a database if the specs run with their log in EventStoreDB (`jest.config.mjs`): a real one if
 * `TEST_EVENTSTORE_URL` is set. Callers with the same database share one store.
 */
export const eventStoreBeside = async (databaseUrl: string): Promise<TestEventStore | undefined> => {
  if (!('IS_LOG_IN_EVENTSTORE' in globalThis)) return undefined;
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
