import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Binaries } from './binaries.js';
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
  // A statement whose client was killed ends; where the server was killed too, the next one waits for it.
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
/** What a start may fail with that passes by itself... */
const PASSING = /pre-existing shared memory|lock file|could not bind|in use/;
/** ...as a statement of the dead server does, which runs on until its own time limit; and for everything else. */
const PASSING_MS = 30_000;
const OTHER_MS = 1_000;

const spawnServer = async (
  place: ClusterLayout,
  { postgres }: Binaries,
  transport: Transport,
): Promise<ChildProcess> => {
  const settings = { ...SETTINGS, ...(await listenSettings(place, transport)) };
  const log = await open(place.log, 'a', 0o600);
  try {
    const server = spawn(
      postgres,
      ['-D', place.cluster, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
      {
        ...place.owner,
        cwd: '/',
        // Out of reach of the terminal: Ctrl-C is for its owner, who stops it last.
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

/** @returns undefined where the server ended before it was ready; its log says why */
const attempt = async (
  place: ClusterLayout,
  binaries: Binaries,
  transport: Transport,
  log: (line: string) => void,
): Promise<Postmaster | undefined> => {
  await clearStalePid(place.cluster);
  const server = await spawnServer(place, binaries, transport);
  const ended = once(server, 'exit');
  // Until its pid file is there it can only be seen as our child.
  while (server.exitCode === null && server.signalCode === null) {
    if ((await findPostmaster(place.cluster))?.pid === server.pid)
      return readyPostmaster(place.cluster, RECOVERY_MS, log);
    await Promise.race([ended, sleep(10)]);
  }
  return undefined;
};

/**
 * Adopts the server that runs on the cluster, or starts one. After a crash a start may fail for a while, because
 * processes of the dead server still hold its memory; and it may take a while, to recover.
 * Call it under the lock.
 */
export const startServer = async (
  place: ClusterLayout,
  findBinaries: () => Promise<Binaries>,
  transport: Transport,
  log: (line: string) => void,
): Promise<Postmaster> => {
  // Adopts, and waits for one that still starts or stops.
  const running = await readyPostmaster(place.cluster, RECOVERY_MS, log);
  if (running) return running;
  await trimLog(place.log);
  const binaries = await findBinaries();
  const begin = Date.now();
  for (;;) {
    const postmaster = await attempt(place, binaries, transport, log);
    if (postmaster) return postmaster;
    const patience = PASSING.test(await lastLines(place.log, 3)) ? PASSING_MS : OTHER_MS;
    if (Date.now() - begin > patience) break;
    await sleep(BETWEEN_ATTEMPTS_MS);
  }
  throw new Error(
    `PostgreSQL in ${place.cluster} does not start. Its log is ${place.log} and ends:\n${await lastLines(place.log)}`,
  );
};
