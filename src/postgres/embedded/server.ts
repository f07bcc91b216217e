import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Binaries, findBinaries } from './binaries.js';
import { listenSettings, type Transport } from './endpoint.js';
import type { ClusterLayout } from './cluster-layout.js';
import { clearStalePid, findPostmaster, type Postmaster, readyPostmaster } from './postmaster.js';
import { lastLines, trimLog } from './server-log.js';

/** For a machine with two cores. An answered append is on the disk: nothing here may weaken that. */
const SETTINGS: Record<string, string> = {
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  shared_buffers: '256MB',
  effective_cache_size: '1GB',
  work_mem: '16MB',
  maintenance_work_mem: '128MB',
  max_connections: '200',
  // Ends statements of killed clients; after a kill of the server too, the next one would wait for them.
  ...(process.platform === 'win32' ? {} : { client_connection_check_interval: '500ms' }),
  max_wal_size: '2GB',
  checkpoint_timeout: '15min',
  random_page_cost: '1.1',
  jit: 'off',
  timezone: 'UTC',
  // Statement errors go to the client; this log is about the server.
  log_timezone: 'UTC',
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_checkpoints: 'off',
  logging_collector: 'off',
};

const RECOVERY_MS = 300_000;
const BETWEEN_ATTEMPTS_MS = 150;
/** Start-up errors that are temporary... */
const TEMPORARY = /pre-existing shared memory|lock file|could not bind|in use/;
/** ...for as long as a statement of the dead server may run; and the patience with all other errors. */
const TEMPORARY_MS = 30_000;
const OTHER_MS = 1_000;

const spawnServer = async (
  layout: ClusterLayout,
  { postgres }: Binaries,
  transport: Transport,
): Promise<ChildProcess> => {
  const settings = { ...SETTINGS, ...(await listenSettings(layout, transport)) };
  const log = await open(layout.log, 'a', 0o600);
  try {
    const server = spawn(
      postgres,
      ['-D', layout.cluster, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
      {
        ...layout.owner,
        cwd: '/',
        // Detached from the terminal: Ctrl-C reaches the owner, who stops the server last.
        detached: true,
        windowsHide: true,
        env: { LC_ALL: 'C' },
        stdio: ['ignore', log.fd, log.fd],
      },
    );
    await once(server, 'spawn');
    server.unref();
    return server;
  } finally {
    await log.close();
  }
};

/** @returns undefined if the server exited before it was ready; its log says why */
const attempt = async (
  layout: ClusterLayout,
  binaries: Binaries,
  transport: Transport,
  log: (line: string) => void,
): Promise<Postmaster | undefined> => {
  await clearStalePid(layout.cluster);
  const server = await spawnServer(layout, binaries, transport);
  const ended = once(server, 'exit');
  // Until its pid file exists it is only known as our child.
  while (server.exitCode === null && server.signalCode === null) {
    if ((await findPostmaster(layout.cluster))?.pid === server.pid)
      return readyPostmaster(layout.cluster, RECOVERY_MS, log);
    await Promise.race([ended, sleep(10)]);
  }
  return undefined;
};

/**
 * Attaches to the server that runs on the cluster, or starts one. After a crash, start-up may fail for a while because
 * processes of the dead server still hold its memory, and recovery may take a while.
 * Call it under the lock.
 */
export const startServer = async (
  layout: ClusterLayout,
  transport: Transport,
  log: (line: string) => void,
): Promise<Postmaster> => {
  // Attaches to a running server; waits if it is starting or stopping.
  const running = await readyPostmaster(layout.cluster, RECOVERY_MS, log);
  if (running) return running;
  await trimLog(layout.log);
  const binaries = await findBinaries(layout);
  const begin = performance.now();
  for (;;) {
    const postmaster = await attempt(layout, binaries, transport, log);
    if (postmaster) return postmaster;
    const patience = TEMPORARY.test(await lastLines(layout.log, 3)) ? TEMPORARY_MS : OTHER_MS;
    if (performance.now() - begin > patience) break;
    await sleep(BETWEEN_ATTEMPTS_MS);
  }
  throw new Error(
    `PostgreSQL in ${layout.cluster} does not start. Its log is ${layout.log} and ends:\n${await lastLines(layout.log)}`,
  );
};
