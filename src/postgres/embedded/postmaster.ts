import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { findBinaries } from './binaries.js';
import type { ClusterLayout } from './cluster-layout.js';
import { commandLine, processIdentity } from './processes.js';

/** What a running server reports in its `postmaster.pid`. */
export interface Postmaster {
  readonly pid: number;
  readonly port: number;
  /** Empty if it has no socket. */
  readonly socketDirectory: string;
  readonly status: 'starting' | 'ready' | 'stopping';
}

const NOBODYS_PID = 2_147_483_647;
const POLL_MS = 20;
/** A fast shutdown writes dirty pages first; an immediate one recovers at the next start instead. */
const FAST_MS = 2_500;
const IMMEDIATE_MS = 2_000;

const pidFileOf = (cluster: string): string => join(cluster, 'postmaster.pid');

const readLines = async (cluster: string): Promise<string[]> => {
  try {
    return (await readFile(pidFileOf(cluster), 'utf8')).split('\n');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
};

const isPostmaster = (pid: number, cluster: string): boolean =>
  processIdentity(pid) !== undefined && (commandLine(pid)?.includes(cluster) ?? true);

/** @returns undefined if no server runs on the cluster, whatever its pid file says */
export const findPostmaster = async (cluster: string): Promise<Postmaster | undefined> => {
  const [pid, , , port, socketDirectory = '', , , status] = await readLines(cluster);
  if (!Number(pid) || !isPostmaster(Number(pid), cluster)) return undefined;
  const word = status?.trim();
  return {
    pid: Number(pid),
    port: Number(port),
    socketDirectory,
    status: word === 'ready' || word === 'stopping' ? word : 'starting',
  };
};

/** Whether a server runs on the cluster, or was killed. */
export const isUnclean = (cluster: string): boolean => existsSync(pidFileOf(cluster));

/** @returns the pid of the server that runs on the cluster, if any */
export const serverPid = (cluster: string): number | undefined => {
  const pid = Number.parseInt(readFileSync(pidFileOf(cluster), 'utf8'), 10);
  return isPostmaster(pid, cluster) ? pid : undefined;
};

/**
 * After a crash the pid file may name an unrelated process with the same pid, or a zombie; either would keep the server
 * from starting. The rest of the file stays: the server uses it to detect children that still hold shared memory.
 */
export const clearStalePid = async (cluster: string): Promise<void> => {
  const [pid, ...rest] = await readLines(cluster);
  if (!Number(pid) || isPostmaster(Number(pid), cluster)) return;
  await writeFile(pidFileOf(cluster), [NOBODYS_PID, ...rest].join('\n'));
};

const ends = async (pid: number, cluster: string, withinMs: number): Promise<boolean> => {
  for (const until = performance.now() + withinMs; performance.now() < until; await sleep(POLL_MS))
    if (!isPostmaster(pid, cluster)) return true;
  return !isPostmaster(pid, cluster);
};

const ask = async (mode: 'fast' | 'immediate', pid: number, layout: ClusterLayout): Promise<void> => {
  // Windows has no signals; pg_ctl has another way.
  if (process.platform === 'win32') {
    const { pgCtl } = await findBinaries(layout);
    await promisify(execFile)(pgCtl, ['stop', '--no-wait', '--mode', mode, '--pgdata', layout.cluster]);
    return;
  }
  try {
    process.kill(pid, mode === 'fast' ? 'SIGINT' : 'SIGQUIT');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
};

/** Stops the server and disconnects its clients: fast shutdown, immediate shutdown after 2.5 s. */
export const stopPostmaster = async ({ pid }: Postmaster, layout: ClusterLayout): Promise<void> => {
  const { cluster } = layout;
  await ask('fast', pid, layout);
  if (await ends(pid, cluster, FAST_MS)) return;
  await ask('immediate', pid, layout);
  if (!(await ends(pid, cluster, IMMEDIATE_MS)))
    throw new Error(`PostgreSQL (process ${pid}, in ${cluster}) did not stop`);
};

/**
 * Waits until the server accepts connections.
 * @returns undefined if it has exited instead
 */
export const readyPostmaster = async (
  cluster: string,
  withinMs: number,
  log: (line: string) => void,
): Promise<Postmaster | undefined> => {
  const begin = performance.now();
  for (let said = 0; performance.now() - begin < withinMs; await sleep(POLL_MS)) {
    const postmaster = await findPostmaster(cluster);
    if (postmaster === undefined || postmaster.status === 'ready') return postmaster;
    const waited = Math.floor((performance.now() - begin) / 5_000);
    if (waited > said) log(`PostgreSQL has been ${postmaster.status} for ${waited * 5} s`);
    said = waited;
  }
  throw new Error(`PostgreSQL in ${cluster} was not ready within ${withinMs / 1000} s`);
};
