import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { statement } from '../statement.js';
import { type Config, ignoreLibpqVariables, inDataDir } from '../../runtime/config.js';
import { findBinaries, createCluster, refuseUnreachable } from './cluster.js';
import {
  choosePassword,
  claimCluster,
  type ClusterLayout,
  findClusterLayout,
  closeDataDir,
  listOrphans,
} from './cluster-layout.js';
import { createServiceRole, SERVICE_ROLE, type Transport, urlOf } from './endpoint.js';
import { findPostmaster, startServer, stopServer } from './postmaster.js';

/** A pair of keys, so that the lock cannot collide with the service's other advisory locks, which have a single key. */
const LOCK = '20261125, 1';

/** Marks the server as used by this process, until the connection ends. */
export const BEGIN_USE = statement(
  'embedded-begin-use',
  {},
  { is_locked: 'boolean' },
  `select pg_advisory_lock_shared(${LOCK}) is not null as is_locked`,
);

export const END_USE = statement(
  'embedded-end-use',
  {},
  { ended: 'boolean' },
  `select pg_advisory_unlock_shared(${LOCK}) as ended`,
);
/**
 * Returns whether no other process uses the server. In that case, the lock keeps new users out until the connection
 * ends.
 */
export const LOCK_EXCLUSIVELY = statement(
  'embedded-lock-out',
  {},
  { is_last: 'boolean' },
  `select pg_try_advisory_lock(${LOCK}) as is_last`,
);

/** A PostgreSQL to use. */
export interface Database {
  /** The URL contains the password and must never be logged. The URL stays valid when the embedded server restarts. */
  readonly url: string;
  /** Called when this process no longer uses the database. The last process that uses the embedded server stops it. */
  release(): Promise<void>;
}

type Log = (line: string) => void;

/** This process's use of the server: an open connection that shares a lock of PostgreSQL with every other use. */
interface Use {
  readonly client: Client;
  readonly url: string;
  /** The server, if this process started it. */
  readonly ownPid: number | undefined;
}

const INVALID_PASSWORD = '28P01';
const RESTART_INTERVAL_MS = 250;

const connect = async (layout: ClusterLayout, start: () => ReturnType<typeof startServer>): Promise<Use> => {
  for (;;) {
    const postmaster = await start();
    const url = urlOf(postmaster, SERVICE_ROLE, await choosePassword(layout.rolePasswordFile));
    const client = new Client({ connectionString: url });
    // Errors are ignored; the event `end` of the connection is handled below.
    client.on('error', () => {});
    try {
      await client.connect();
      await BEGIN_USE.run(client, {});
      return { client, url, ownPid: postmaster.isStartedHere ? postmaster.pid : undefined };
    } catch (error) {
      await client.end().catch(() => {});
      if ((error as { code?: string }).code === INVALID_PASSWORD) await createServiceRole(layout, postmaster);
      else {
        const running = await findPostmaster(layout.cluster);
        if (running?.isReady && running.pid === postmaster.pid) throw error;
      }
    }
  }
};

/** Starts the server unless it runs, and connects. If that fails, a server that this call started is stopped again. */
const use = async (
  layout: ClusterLayout,
  transport: Transport,
  log: Log,
  overrides: readonly string[] | undefined,
): Promise<Use> => {
  let isStartedHere = false;
  try {
    return await connect(layout, async () => {
      const postmaster = await startServer(layout, transport, log, overrides);
      isStartedHere ||= postmaster.isStartedHere;
      return postmaster;
    });
  } catch (error) {
    if (isStartedHere) await stopServer(layout).catch((failure: unknown) => log((failure as Error).message));
    throw error;
  }
};

/**
 * Whether no other process uses the server. In that case, the server is locked against new users until the connection
 * ends.
 */
const isLastUse = async ({ client }: Use): Promise<boolean> => {
  try {
    await END_USE.run(client, {});
    const [row] = await LOCK_EXCLUSIVELY.run(client, {});
    return row!.is_last;
  } catch {
    return false; // The server is gone.
  }
};

/**
 * Closes the data directory to other users. Does nothing if an embedded server keeps its files in it, because the
 * server's user may need access; the process that starts the server grants that access.
 */
export const protectDataDir = async ({ dataDir }: Pick<Config, 'dataDir'>, log: Log): Promise<void> => {
  if (!existsSync(inDataDir(dataDir, 'postgres'))) await closeDataDir(dataDir, undefined, log);
};

/**
 * Returns the configured database. If no database is configured, uses the embedded PostgreSQL in the data directory:
 * creates the cluster if needed, and starts the server or connects to the running server. If the server exits while it
 * is used, the server is started again. The last process that uses the server stops it.
 * @param log called with messages for the operator, such as how long the start has been waiting for PostgreSQL
 * @param overrides as for `startServer`
 * @throws Error with the path and the last lines of the server's log if the server does not start
 * @throws ConfigError if the path of the binaries prevents the creation of a database
 */
export const openDatabase = async (
  { databaseUrl, dataDir }: Pick<Config, 'databaseUrl' | 'dataDir'>,
  log: Log,
  transport: Transport = process.platform === 'win32' ? 'loopback' : 'socket',
  overrides?: readonly string[],
): Promise<Database> => {
  if (databaseUrl !== undefined) {
    await protectDataDir({ dataDir }, log);
    return { url: databaseUrl, release: async () => {} };
  }
  ignoreLibpqVariables();
  const layout = await findClusterLayout(dataDir);
  if (!layout.cluster.startsWith(layout.home))
    log(`The database is in ${layout.cluster}, because PostgreSQL's user cannot enter ${layout.home}`);
  await closeDataDir(dataDir, layout.serverUser, log);
  if (!existsSync(layout.cluster)) {
    log(`Creating a database in ${layout.cluster}`);
    for (const orphan of await listOrphans(layout))
      log(`${orphan} has the database of a deleted DATA_DIR at this path; delete it if you do not need its data`);
    await createCluster(layout, await findBinaries(layout));
  }
  refuseUnreachable(layout);
  await claimCluster(layout);

  let current = await use(layout, transport, log, overrides);
  let restarting: Promise<void> | undefined;
  let released: Promise<void> | undefined;
  const restart = async (): Promise<void> => {
    // If the data is deleted while it is in use, no new, empty database replaces the data.
    while (!released && existsSync(layout.cluster))
      try {
        if ((await findPostmaster(layout.cluster)) === undefined) log('PostgreSQL exited; restarting it');
        current = await use(layout, transport, log, overrides);
        return watch();
      } catch (error) {
        log((error as Error).message);
        await sleep(RESTART_INTERVAL_MS);
      }
  };
  const watch = (): void =>
    void current.client.once('end', () => {
      if (!released) restarting = restart();
    });
  watch();
  /**
   * This listener is for a process that ends without a release, by an uncaught error or `process.exit`. Other processes
   * restart the server.
   */
  const stopAtExit = (): void => {
    try {
      if (current.ownPid !== undefined) process.kill(current.ownPid, 'SIGINT');
    } catch {
      // Errors cannot be reported at this point. If the server is still running, the next start uses it.
    }
  };
  process.once('exit', stopAtExit);
  const release = async (): Promise<void> => {
    await restarting;
    if (await isLastUse(current)) await stopServer(layout);
    await current.client.end();
    process.off('exit', stopAtExit);
  };
  return { url: current.url, release: () => (released ??= release()) };
};
