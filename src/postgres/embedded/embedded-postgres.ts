import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Config } from '../../config.js';
import { type Binaries, findBinaries } from './binaries.js';
import { createCluster, isCreated, refuseUnreachable } from './cluster.js';
import { closeDataDir } from './data-dir.js';
import { removeEndpoint, type Transport, urlOf } from './endpoint.js';
import { underLock } from './lock.js';
import { findClusterLayout, type ClusterLayout } from './cluster-layout.js';
import { findPostmaster, isUnclean, type Postmaster, serverPid, stopPostmaster } from './postmaster.js';
import { startServer } from './server.js';
import { createServiceRole, hasServiceRole, readRolePassword, SERVICE_ROLE } from './database-role.js';
import { trimLog } from './server-log.js';
import { registerClient, countClients, unregisterEndingClient, unregisterClient } from './clients.js';

/** A PostgreSQL to use. */
export interface Database {
  /** With the password in it: not for a log. It stays good when the embedded server crashes and is started again. */
  readonly url: string;
  /** Ends this use of it. The last user's end stops the embedded server. */
  release(): Promise<void>;
}

type Log = (line: string) => void;

const WATCH_MS = 250;
const TRIM_MS = 60_000;

const startIn = (place: ClusterLayout, transport: Transport, log: Log): Promise<Postmaster> =>
  startServer(place, () => findBinaries(dirname(place.cluster), place.owner), transport, log);

/** Makes the service's role where there is none yet. Call it under the lock. */
const giveRole = async (place: ClusterLayout, transport: Transport, log: Log): Promise<void> => {
  if (hasServiceRole(place)) return;
  const binaries = (): Promise<Binaries> => findBinaries(dirname(place.cluster), place.owner);
  // A server of an earlier version still runs, or was killed: it has to stop in order first. Its users see it come back.
  if (isUnclean(place.cluster)) await stopPostmaster(await startIn(place, transport, log), place.cluster, binaries);
  await createServiceRole(place, await binaries());
};

/** Starts the server again where it dies under its users. */
const watch = (place: ClusterLayout, transport: Transport, log: Log): (() => Promise<void>) => {
  let busy: Promise<void> | undefined;
  const revive = async (): Promise<void> => {
    // If the data is deleted while in use, no new, empty database replaces it.
    if (!isCreated(place.cluster) || (await findPostmaster(place.cluster))?.status === 'ready') return;
    log('PostgreSQL has ended and is started again');
    await underLock(place.home, () => startIn(place, transport, log));
  };
  const attend = (work: () => Promise<void>): void => {
    busy ??= work()
      .catch((error: Error) => log(error.message))
      .finally(() => (busy = undefined));
  };
  const timers = [
    setInterval(() => attend(revive), WATCH_MS),
    setInterval(() => attend(() => trimLog(place.log)), TRIM_MS),
  ];
  for (const timer of timers) timer.unref();
  return async () => {
    for (const timer of timers) clearInterval(timer);
    await busy;
  };
};

const leave = (place: ClusterLayout, user: string): Promise<void> =>
  underLock(place.home, async () => {
    await unregisterClient(user);
    if ((await countClients(place.users)) > 0) return;
    const postmaster = await findPostmaster(place.cluster);
    if (!postmaster) return;
    await stopPostmaster(postmaster, place.cluster, () => findBinaries(dirname(place.cluster), place.owner));
    await removeEndpoint(postmaster);
  });

/**
 * What can still be done where the process ends without having released: by an uncaught error, or `process.exit`.
 * A process that joins at the same moment sees the server end, and restarts it.
 */
const leaveAtExit = (user: string, cluster: string): (() => void) => {
  const leaveNow = (): void => {
    try {
      const pid = unregisterEndingClient(user) ? serverPid(cluster) : undefined;
      if (pid !== undefined) process.kill(pid, 'SIGINT');
    } catch {
      // There is nobody left to tell; the next start adopts what still runs.
    }
  };
  process.once('exit', leaveNow);
  return () => process.off('exit', leaveNow);
};

/**
 * Gives the database of the settings, or where none is set the embedded PostgreSQL in the data directory: starts it,
 * makes it where there is none yet, or joins the one that runs. Processes that use it are counted, the killed ones
 * not; the last one stops it.
 * @param log gets a line for what a person waits for, or should know
 * @throws Error with the place of the server's log and its last lines, where it does not start
 */
export const openDatabase = async (
  { databaseUrl, dataDir }: Pick<Config, 'databaseUrl' | 'dataDir'>,
  log: Log,
  transport: Transport = process.platform === 'win32' ? 'loopback' : 'socket',
): Promise<Database> => {
  if (databaseUrl !== undefined) {
    // Where an embedded server's files are in there, it may need access; the process that starts it grants it.
    if (!existsSync(join(dataDir, 'postgres'))) await closeDataDir(dataDir, undefined, log);
    return { url: databaseUrl, release: async () => {} };
  }
  const place = await findClusterLayout(dataDir);
  await closeDataDir(dataDir, place.passer, log);
  const { user, url } = await underLock(place.home, async () => {
    if (!isCreated(place.cluster)) {
      log(`Makes a database in ${place.cluster}`);
      await createCluster(place, await findBinaries(dirname(place.cluster), place.owner));
    }
    refuseUnreachable(place);
    await giveRole(place, transport, log);
    const password = await readRolePassword(place);
    const file = await registerClient(place.users);
    try {
      return { user: file, url: urlOf(await startIn(place, transport, log), SERVICE_ROLE, password) };
    } catch (error) {
      await unregisterClient(file);
      throw error;
    }
  });
  const unwatch = watch(place, transport, log);
  const stay = leaveAtExit(user, place.cluster);
  let released: Promise<void> | undefined;
  const release = async (): Promise<void> => {
    await unwatch();
    // Deleted while it was in use.
    if (existsSync(place.home)) await leave(place, user);
    stay();
  };
  return { url, release: () => (released ??= release()) };
};
