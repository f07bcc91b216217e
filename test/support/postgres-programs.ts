import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { chown, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { serverOwner } from '../../src/postgres/embedded/cluster-layout.js';
import { eventuallyPasses } from './eventually.js';
import { freePort } from './free-port.js';
import { queryOnce } from './query-once.js';

/** Returns the folder of the installed PostgreSQL programs; the embedded packages have no pg_dump. */
export const findPrograms = (): string | undefined => {
  const [newest] = ['/usr/lib/postgresql', '/opt/homebrew/opt', '/usr/local/opt']
    .filter((parent) => existsSync(parent))
    .flatMap((parent) => readdirSync(parent).map((name) => ({ folder: join(parent, name, 'bin'), name })))
    .map(({ folder, name }) => ({ folder, version: Number(/\d+$/.exec(name)?.[0] ?? 0) }))
    .filter(
      ({ folder, version }) =>
        version >= 15 && existsSync(join(folder, 'pg_dump')) && existsSync(join(folder, 'initdb')),
    )
    .sort((a, b) => b.version - a.version);
  return newest?.folder;
};

/** How to install the programs; part of the message if they are missing. */
export const POSTGRES_PROGRAMS =
  'initdb, pg_dump and pg_basebackup of PostgreSQL 15 or later (apt-get install postgresql)';

/** A running PostgreSQL server on loopback. */
export interface Cluster {
  /** The URL of its superuser and its empty database. */
  readonly url: string;
  /** The folder of its files. */
  readonly folder: string;
  /** Stops the server with SIGQUIT, without a final checkpoint, as in a crash. */
  readonly stop: () => Promise<void>;
}

/** Starts a server. @param folder its data directory */
export const launchCluster = async (programs: string, folder: string): Promise<Cluster> => {
  const port = await freePort();
  const settings = [`port=${port}`, 'listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_connections=60'];
  const server = spawn(join(programs, 'postgres'), ['-D', folder, ...settings.flatMap((setting) => ['-c', setting])], {
    ...serverOwner(folder),
    cwd: '/',
    stdio: 'ignore',
  });
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  const stop = async (): Promise<void> => {
    if (server.exitCode !== null || server.signalCode !== null) return;
    server.kill('SIGQUIT');
    await once(server, 'exit');
  };
  try {
    await eventuallyPasses(async () => void (await queryOnce(url, 'select 1')));
  } catch (error) {
    await stop();
    throw error;
  }
  return { url, folder, stop };
};

/**
 * Creates and starts a new cluster with the installed programs.
 * @param folder must be accessible to other users: if the tests run as root, the server runs as another user
 */
export const startCluster = async (programs: string, folder: string): Promise<Cluster> => {
  const cluster = join(folder, 'cluster');
  const owner = serverOwner(cluster);
  await mkdir(cluster, { mode: 0o700 });
  if (owner) await chown(cluster, owner.uid, owner.gid);
  const args = ['-D', cluster, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync'];
  await promisify(execFile)(join(programs, 'initdb'), args, { ...owner, cwd: '/' });
  return launchCluster(programs, cluster);
};
