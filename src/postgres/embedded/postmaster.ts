import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { open, readFile, rename, rmdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { findBinaries } from './cluster.js';
import type { ClusterLayout } from './cluster-layout.js';
import { listenSettings, type Postmaster, type Transport } from './endpoint.js';

/**
 * The settings of the server, for a machine with two cores. Acknowledged events must be on disk, so no setting may
 * weaken durability.
 */
const SETTINGS = [
  'fsync=on synchronous_commit=on full_page_writes=on',
  'shared_buffers=256MB effective_cache_size=1GB work_mem=16MB maintenance_work_mem=128MB max_connections=200',
  // Ends the statements of killed clients. Otherwise, if the server is killed too, the next server would wait for these
  // statements.
  process.platform === 'win32' ? '' : 'client_connection_check_interval=500ms',
  'max_wal_size=2GB checkpoint_timeout=15min random_page_cost=1.1 jit=off timezone=UTC',
  // Statement errors go to the client; this log is about the server.
  'log_timezone=UTC log_min_messages=log log_min_error_statement=panic log_checkpoints=off logging_collector=off',
].flatMap((line) => line.split(' ').filter(Boolean));

const POLL_INTERVAL_MS = 20;
const START_TIMEOUT_MS = 300_000;
const RETRY_INTERVAL_MS = 150;
/** Start-up errors that are temporary: the processes of a killed server may still run a statement. */
const TEMPORARY_ERROR = /pre-existing shared memory|lock file|could not bind|in use/;
/** How long the start is retried after a temporary error, and after any other error. */
const TEMPORARY_ERROR_TIMEOUT_MS = 30_000;
const OTHER_ERROR_TIMEOUT_MS = 1_000;
const MAX_LOG_BYTES = 4 * 1024 * 1024;
/**
 * Modes of pg_ctl with their timeouts in s. A fast shutdown writes dirty pages; after an immediate shutdown, the server
 * recovers at the next start.
 */
const SHUTDOWN_MODES = [
  ['fast', 3],
  ['immediate', 2],
] as const;

/** @returns undefined if there is no such process or its command line cannot be read; empty for a zombie */
export const commandLine = (pid: number): string | undefined => {
  try {
    if (process.platform === 'linux') return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
    return execFileSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], {
      encoding: 'utf8',
      env: { PATH: '/bin:/usr/bin', LC_ALL: 'C' },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  } catch {
    return undefined;
  }
};

const isPostmaster = (pid: number, cluster: string): boolean => {
  if (process.platform !== 'win32') return commandLine(pid)?.includes(cluster) ?? false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
};

/** The lines of `postmaster.pid`, which a killed server leaves behind. */
const readPidFile = async (cluster: string): Promise<string[]> =>
  (await readFile(join(cluster, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n');

/** @returns undefined if no server runs on the cluster, whatever its pid file says */
export const findPostmaster = async (cluster: string): Promise<Postmaster | undefined> => {
  const [pid, , , port, socketDirectory = '', , , status] = await readPidFile(cluster);
  if (!Number(pid) || !isPostmaster(Number(pid), cluster)) return undefined;
  return { pid: Number(pid), port: Number(port), socketDirectory, isReady: status?.trim() === 'ready' };
};

const lastLines = async (file: string, count: number): Promise<string> =>
  existsSync(file) ? (await readFile(file, 'utf8')).trimEnd().split('\n').slice(-count).join('\n') : '';

const spawnServer = async (
  layout: ClusterLayout,
  transport: Transport,
  overrides: readonly string[],
): Promise<ChildProcess> => {
  const { postgres } = await findBinaries(layout);
  // Of a setting that is given twice, PostgreSQL uses the last value.
  const settings = [...SETTINGS, ...(await listenSettings(layout, transport)), ...overrides];
  const [stalePid] = await readPidFile(layout.cluster);
  const log = await open(layout.log, 'a', 0o600);
  try {
    const server = spawn(postgres, ['-D', layout.cluster, ...settings.flatMap((setting) => ['-c', setting])], {
      ...layout.owner,
      cwd: '/',
      // The server is detached from the terminal, because Ctrl-C must reach only the processes that use the server. The
      // last of these processes stops the server.
      detached: true,
      windowsHide: true,
      // PostgreSQL treats a lock file with this pid as stale. After a crash, the pid may be that of an unrelated
      // process.
      env: { LC_ALL: 'C', PG_GRANDPARENT_PID: stalePid },
      stdio: ['ignore', log.fd, log.fd],
    });
    await once(server, 'spawn');
    server.unref();
    return server;
  } finally {
    await log.close();
  }
};

const rotateLog = async (log: string): Promise<void> => {
  if (existsSync(log) && (await stat(log)).size > MAX_LOG_BYTES) await rename(log, `${log}.1`);
};

/**
 * Finds the server that runs on the cluster, or starts one, and waits until it accepts connections. If several processes
 * start a server at once, PostgreSQL's `postmaster.pid` admits one server, and all processes use it. After a crash the
 * start may fail for some time, because processes of the dead server still hold its memory.
 * @param overrides settings that replace those of this file, for a server that a test run deletes afterwards
 * @returns the server, and whether this call started it
 */
export const startServer = async (
  layout: ClusterLayout,
  transport: Transport,
  log: (line: string) => void,
  overrides: readonly string[] = [],
): Promise<Postmaster & { readonly isStartedHere: boolean }> => {
  const startedAt = performance.now();
  let server: ChildProcess | undefined;
  for (let loggedMs = 0; ; await sleep(POLL_INTERVAL_MS)) {
    const postmaster = await findPostmaster(layout.cluster);
    if (postmaster?.isReady) return { ...postmaster, isStartedHere: postmaster.pid === server?.pid };
    const waitedMs = performance.now() - startedAt;
    if (waitedMs > START_TIMEOUT_MS) {
      server?.kill('SIGINT');
      throw new Error(`PostgreSQL in ${layout.cluster} was not ready within ${START_TIMEOUT_MS / 1_000} s`);
    }
    if (waitedMs > loggedMs + 5_000)
      log(`PostgreSQL is not ready after ${(loggedMs += 5_000) / 1_000} s; still waiting`);
    if (postmaster !== undefined) continue;
    if (server === undefined) await rotateLog(layout.log);
    else if (server.exitCode === null && server.signalCode === null) continue;
    else {
      const isTemporary = TEMPORARY_ERROR.test(await lastLines(layout.log, 3));
      if (waitedMs > (isTemporary ? TEMPORARY_ERROR_TIMEOUT_MS : OTHER_ERROR_TIMEOUT_MS))
        throw new Error(
          `PostgreSQL in ${layout.cluster} does not start. Its log is ${layout.log} and ends:\n` +
            (await lastLines(layout.log, 10)),
        );
      await sleep(RETRY_INTERVAL_MS);
    }
    server = await spawnServer(layout, transport, overrides);
  }
};

/** Stops the server, if one runs on the cluster, and disconnects its clients. */
export const stopServer = async (layout: ClusterLayout): Promise<void> => {
  const postmaster = await findPostmaster(layout.cluster);
  if (postmaster === undefined) return;
  const { pgCtl } = await findBinaries(layout);
  for (const [mode, seconds] of SHUTDOWN_MODES) {
    const args = ['stop', '-w', '-D', layout.cluster, '-m', mode, '-t', String(seconds)];
    // A failure is ignored, because the next statement checks whether the server has stopped.
    await promisify(execFile)(pgCtl, args, { ...layout.owner, cwd: '/', windowsHide: true }).catch(() => {});
    if ((await findPostmaster(layout.cluster))?.pid === postmaster.pid) continue;
    // The directory is removed only if it is empty, because another process may have started the next server.
    if (postmaster.socketDirectory !== '') await rmdir(postmaster.socketDirectory).catch(() => {});
    return;
  }
  throw new Error(`PostgreSQL (process ${postmaster.pid}, in ${layout.cluster}) did not stop`);
};
