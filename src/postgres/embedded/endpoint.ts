import { existsSync, lstatSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { giveTo } from './os-user.js';
import { type ClusterLayout, saveState, loadState } from './cluster-layout.js';
import type { Postmaster } from './postmaster.js';

/** How the server is reached. A Unix socket is faster and protected by its directory; Windows uses loopback TCP. */
export type Transport = 'socket' | 'loopback';

const LOOPBACK = '127.0.0.1';
/** Only names the socket; no port is used. */
const SOCKET_PORT = 5432;

const isOurs = (directory: string, uid: number | undefined): boolean => {
  if (!existsSync(directory)) return false;
  const found = lstatSync(directory);
  return found.isDirectory() && found.uid === uid && (found.mode & 0o077) === 0;
};

/**
 * A directory that only the server's user and root can enter. Not in the data directory, because a socket's path is
 * limited to 103 bytes. A crashed server's directory is reused, so that its clients' URL stays valid.
 */
const socketDirectory = async ({ home, owner }: ClusterLayout): Promise<string> => {
  const known = loadState(home)?.socketDirectory;
  if (known !== undefined && isOurs(known, owner?.uid ?? process.getuid?.())) {
    // Left by a crash; the lock file may name a pid that another process has by now.
    for (const name of ['.s.PGSQL.5432', '.s.PGSQL.5432.lock']) await rm(join(known, name), { force: true });
    return known;
  }
  const directory = await mkdtemp(join(existsSync('/tmp') ? '/tmp' : tmpdir(), 'threat-protection-'));
  await chmod(directory, 0o700);
  await giveTo(owner, directory);
  await saveState(home, { socketDirectory: directory });
  return directory;
};

const tryPort = (port: number): Promise<number | undefined> =>
  new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(undefined));
    probe.listen(port, LOOPBACK, () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' ? address?.port : undefined));
    });
  });

const freePort = async ({ home }: ClusterLayout): Promise<number> => {
  const known = loadState(home)?.port;
  const port = (known && (await tryPort(known))) || (await tryPort(0));
  if (port === undefined) throw new Error(`No port is free on ${LOOPBACK}`);
  await saveState(home, { port });
  return port;
};

/** The server's settings that make it listen. */
export const listenSettings = async (layout: ClusterLayout, transport: Transport): Promise<Record<string, string>> =>
  transport === 'socket'
    ? {
        listen_addresses: '',
        port: String(SOCKET_PORT),
        unix_socket_directories: await socketDirectory(layout),
      }
    : { listen_addresses: LOOPBACK, port: String(await freePort(layout)), unix_socket_directories: '' };

/** Removes what a stopped server leaves outside its data directory. */
export const removeEndpoint = async (postmaster: Postmaster): Promise<void> => {
  if (postmaster.socketDirectory !== '') await rm(postmaster.socketDirectory, { recursive: true, force: true });
};

/** A URL that `pg`, `psql` and `new URL` all read; with a socket, `host` in the query overrides the host name. */
export const urlOf = (postmaster: Postmaster, role: string, password: string): string =>
  postmaster.socketDirectory === ''
    ? `postgres://${role}:${password}@${LOOPBACK}:${postmaster.port}/postgres`
    : `postgres://${role}:${password}@localhost/postgres?host=${encodeURIComponent(postmaster.socketDirectory)}`;
