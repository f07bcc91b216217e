import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../runtime/config.js';
import { findBinaries } from './binaries.js';
import { createCluster, isCreated, refuseUnreachable } from './cluster.js';
import { closeDataDir } from './data-dir.js';
import { removeEndpoint, type Transport, urlOf } from './endpoint.js';
import { underLock } from './lock.js';
import { findClusterLayout, type ClusterLayout } from './cluster-layout.js';
import { findPostmaster, isUnclean, serverPid, stopPostmaster } from './postmaster.js';
import { startServer } from './server.js';
import { createServiceRole, hasServiceRole, readRolePassword, SERVICE_ROLE } from './database-role.js';
import { trimLog } from './server-log.js';
import { registerClient, countClients, unregisterEndingClient, unregisterClient } from './clients.js';

/** A PostgreSQL to use. */
export interface Database {
  /** Contains the password; never log it. Stays valid when the embedded server restarts. */
  readonly url: string;
  /** Ends this use. The last client stops the embedded server. */
  release(): Promise<void>;
}

type Log = (line: string) => void;

const WATCH_MS = 250;
const TRIM_MS = 60_000;

/** Creates the service's role if there is none. Call it under the lock. */
const ensureRole = async (layout: ClusterLayout, transport: Transport, log: Log): Promise<void> => {
  if (hasServiceRole(layout)) return;
  // A server of an earlier version is running or was killed: it must shut down cleanly first. Its clients reconnect.
  if (isUnclean(layout.cluster)) await stopPostmaster(await startServer(layout, transport, log), layout);
  await createServiceRole(layout, await findBinaries(layout));
};

/** Restarts the server if it exits while in use. */
const watch = (layout: ClusterLayout, transport: Transport, log: Log): (() => Promise<void>) => {
  let busy: Promise<void> | undefined;
  const revive = async (): Promise<void> => {
    // If the data is deleted while in use, no new, empty database replaces it.
    if (!isCreated(layout.cluster) || (await findPostmaster(layout.cluster))?.status === 'ready') return;
    log('PostgreSQL exited; restarting it');
    await underLock(layout.home, () => startServer(layout, transport, log));
  };
  const attend = (work: () => Promise<void>): void => {
    busy ??= work()
      .catch((error: Error) => log(error.message))
      .finally(() => (busy = undefined));
  };
  const timers = [
    setInterval(() => attend(revive), WATCH_MS),
    setInterval(() => attend(() => trimLog(layout.log)), TRIM_MS),
  ];
  for (const timer of timers) timer.unref();
  return async () => {
    for (const timer of timers) clearInterval(timer);
    await busy;
  };
};

const leave = (layout: ClusterLayout, client: string): Promise<void> =>
  underLock(layout.home, async () => {
    await unregisterClient(client);
    if ((await countClients(layout.clients)) > 0) return;
    const postmaster = await findPostmaster(layout.cluster);
    if (!postmaster) return;
    await stopPostmaster(postmaster, layout);
    await removeEndpoint(postmaster);
  });

/**
 * Stops an otherwise unused server if the process ends without releasing it: by an uncaught error, or `process.exit`.
 * A process that attaches at the same time sees the server exit and restarts it.
 */
const leaveAtExit = (client: string, cluster: string): (() => void) => {
  const leaveNow = (): void => {
    try {
      const pid = unregisterEndingClient(client) ? serverPid(cluster) : undefined;
      if (pid !== undefined) process.kill(pid, 'SIGINT');
    } catch {
      // Nothing can be reported at this point; the next start adopts a server that is still running.
    }
  };
  process.once('exit', leaveNow);
  return () => process.off('exit', leaveNow);
};

/**
 * Returns the configured database. If none is configured, uses the embedded PostgreSQL in the data directory: creates it
 * if needed, starts it, or attaches to the running one. Live client processes are counted; the last one stops it.
 * @param log gets a line for what a person waits for, or should know
 * @throws Error with the path and the last lines of the server's log if it does not start
 */
export const openDatabase = async (
  { databaseUrl, dataDir }: Pick<Config, 'databaseUrl' | 'dataDir'>,
  log: Log,
  transport: Transport = process.platform === 'win32' ? 'loopback' : 'socket',
): Promise<Database> => {
  if (databaseUrl !== undefined) {
    // If an embedded server keeps its files there, its user may need access; the process that starts it grants it.
    if (!existsSync(join(dataDir, 'postgres'))) await closeDataDir(dataDir, undefined, log);
    return { url: databaseUrl, release: async () => {} };
  }
  const layout = await findClusterLayout(dataDir);
  if (!layout.cluster.startsWith(layout.home))
    log(`The database is in ${layout.cluster}, because PostgreSQL's user cannot enter ${layout.home}`);
  await closeDataDir(dataDir, layout.serverUser, log);
  const { client, url } = await underLock(layout.home, async () => {
    if (!isCreated(layout.cluster)) {
      log(`Creating a database in ${layout.cluster}`);
      await createCluster(layout, await findBinaries(layout));
    }
    refuseUnreachable(layout);
    await ensureRole(layout, transport, log);
    const password = await readRolePassword(layout);
    const file = await registerClient(layout.clients);
    try {
      return { client: file, url: urlOf(await startServer(layout, transport, log), SERVICE_ROLE, password) };
    } catch (error) {
      await unregisterClient(file);
      throw error;
    }
  });
  const unwatch = watch(layout, transport, log);
  const stay = leaveAtExit(client, layout.cluster);
  let released: Promise<void> | undefined;
  const release = async (): Promise<void> => {
    await unwatch();
    // The directory was deleted while in use.
    if (existsSync(layout.home)) await leave(layout, client);
    stay();
  };
  return { url, release: () => (released ??= release()) };
};
