import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createPool } from '../src/postgres/pool.js';
import { freePort } from '../test/support/free-port.js';
import { superuserOf } from '../test/support/superuser.js';
import type { Database } from './database.js';
import { requireEqual } from './equal.js';
import type { Bench } from './goal.js';
import { OWN_ONLY, sourcesFile, temporaryFolder } from './services.js';

/** The command line of the service: of this build, or of the build in the folder `BENCH_BUILD`. */
export const CLI =
  process.env['BENCH_BUILD'] === undefined
    ? fileURLToPath(new URL('../src/cli.js', import.meta.url))
    : join(process.env['BENCH_BUILD'], 'dist/src/cli.js');
const TIMEOUT_MS = 60_000;

export interface Started {
  readonly process: ChildProcess;
  readonly url: string;
  readonly seconds: number;
}

/** Starts all processes like `npm start`, and waits until the API is ready. */
export const startAll = async (
  dataDir: string,
  sources: string,
  uid: number | undefined,
  settings: NodeJS.ProcessEnv = {},
): Promise<Started> => {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const own = { DATABASE_URL: '', DATA_DIR: dataDir, PORT: String(port), SOURCES_FILE: sources };
  const env = { ...process.env, ...own, ...settings };
  const from = performance.now();
  const child = spawn(process.execPath, [CLI, 'start'], {
    // A separate process group, so that all processes can be killed at once.
    detached: true,
    cwd: dataDir,
    env: { ...env, LOG_LEVEL: 'error', HOME: dataDir },
    stdio: ['ignore', 'ignore', 'pipe'],
    ...(uid !== undefined && { uid, gid: uid }),
  });
  let errorOutput = '';
  let failed: Error | undefined;
  child.on('error', (error) => (failed = error));
  child.stderr!.setEncoding('utf8').on('data', (text: string) => (errorOutput += text));
  while (performance.now() - from < TIMEOUT_MS) {
    const response = await fetch(`${url}/health/ready`).catch(() => undefined);
    if (response?.status === 200) return { process: child, url, seconds: (performance.now() - from) / 1000 };
    if (failed !== undefined)
      throw new Error(
        `${process.execPath} cannot be started: ${failed.message}. Install Node in a folder that every user can enter`,
      );
    if (child.exitCode !== null) break;
    await sleep(10);
  }
  throw new Error(`"start" was not ready within ${TIMEOUT_MS / 1000} s: ${errorOutput}`);
};

export const stopAll = async ({ process: child }: Started): Promise<void> => {
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  const [code] = (await ended) as [number];
  requireEqual('exit code', 0, code);
};

/** The limits are too high to be reached. */
const SETTINGS = {
  ACCESS_LOG: 'off',
  RATE_LIMIT_PER_MINUTE: '999999999',
  UNAUTHENTICATED_RATE_LIMIT_PER_MINUTE: '0',
  MAX_CONNECTIONS_PER_ADDRESS: '0',
};

/** All processes of `npm start` on a data directory of their own. */
export interface Installation {
  readonly url: string;
  /** The process id of `npm start`. The other processes and the database are its descendants. */
  readonly pid: number;
  /** A connection pool of the superuser, and its URL. */
  readonly database: Pick<Database, 'url' | 'pool'>;
  /** Runs a command of the service. @returns its standard output */
  readonly cli: (...words: readonly string[]) => Promise<string>;
  /** Issues a key, and waits one second, until the API has read it. */
  readonly issueKey: (scopes: readonly string[], organization?: string) => Promise<string>;
  readonly stop: () => Promise<void>;
}

/**
 * Starts all processes on an empty data directory. The installation is used only through its command line, its API and
 * its tables, so that it can be of another build.
 */
export const startInstallation = async (bench: Bench): Promise<Installation> => {
  const sources = await sourcesFile(bench, OWN_ONLY);
  const dataDir = await temporaryFolder(bench);
  // If this process is root, the database server runs as another user, who needs access to the folder.
  if (process.getuid?.() === 0) await chmod(dataDir, 0o711);
  const started = await startAll(dataDir, sources, undefined, SETTINGS);
  const url = await superuserOf(dataDir);
  const pool = createPool(url, () => {});
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => (stopped ??= pool.end().then(() => stopAll(started)));
  bench.onEnd(stop);
  const env = { ...process.env, DATABASE_URL: '', DATA_DIR: dataDir };
  const cli = async (...words: readonly string[]): Promise<string> =>
    (await promisify(execFile)(process.execPath, [CLI, ...words], { env })).stdout;
  return {
    url: started.url,
    pid: started.process.pid!,
    database: { url, pool },
    cli,
    issueKey: async (scopes, organization) => {
      const owner = organization === undefined ? [] : ['--organization', organization];
      const stdout = await cli('keys', 'issue', ...owner, ...scopes.flatMap((scope) => ['--scope', scope]), '--json');
      // An instance polls for new keys four times a second.
      await sleep(1_000);
      return (JSON.parse(stdout) as { key: string }).key;
    },
    stop,
  };
};

/** Returns the fields of `/proc/PID/stat` after the name of the process; undefined if the process has ended. */
const statOf = (pid: number): readonly string[] | undefined => {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
  } catch {
    return undefined;
  }
};

/** Returns the id of the PostgreSQL server of a database, whose descendants serve the connections. */
export const serverOf = async ({ pool }: Pick<Database, 'pool'>): Promise<number> => {
  const { rows } = await pool.query<{ pid: number }>('select pg_backend_pid() as pid');
  const parent = statOf(rows[0]!.pid)?.[1];
  if (parent === undefined) throw new Error('PostgreSQL does not run on this machine');
  return Number(parent);
};

/** Returns the ids of a process and of all its descendants. */
export const processTree = (root: number): readonly number[] => {
  const children = new Map<number, number[]>();
  for (const name of readdirSync('/proc')) {
    const parent = /^\d+$/.test(name) ? statOf(Number(name))?.[1] : undefined;
    if (parent === undefined) continue;
    const siblings = children.get(Number(parent));
    if (siblings) siblings.push(Number(name));
    else children.set(Number(parent), [Number(name)]);
  }
  const tree = [root];
  for (const pid of tree) tree.push(...(children.get(pid) ?? []));
  return tree;
};

/**
 * Returns the user and system time of processes and of their ended children, in ms. The kernel counts in hundredths of
 * a second.
 */
export const processorTime = (pids: readonly number[]): number =>
  pids.reduce((sum, pid) => {
    // utime, stime, cutime and cstime, by their index after the name of the process.
    const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = statOf(pid)?.slice(11, 15).map(Number) ?? [];
    return sum + (user + system + endedUser + endedSystem) * 10;
  }, 0);
