import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { findClusterLayout } from '../src/postgres/embedded/cluster-layout.js';
import { freePort } from '../test/support/free-port.js';
import { requireEqual } from './equal.js';
import type { Bench, Goal, Measured } from './goal.js';
import { OWN_ONLY, sourcesFile } from './services.js';
import { quartilesOf } from './statistics.js';

/** The command line of the service: of this build, or of the build in the folder `BENCH_BUILD`. */
export const CLI =
  process.env['BENCH_BUILD'] === undefined
    ? fileURLToPath(new URL('../src/cli.js', import.meta.url))
    : join(process.env['BENCH_BUILD'], 'dist/src/cli.js');
const TIMEOUT_MS = 60_000;
const NOBODY = 65_534;

interface Started {
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

/** Kills all processes and the database, like a power cut. */
const killAll = async ({ process: child }: Started, dataDir: string): Promise<void> => {
  const { cluster } = await findClusterLayout(dataDir);
  const [pid] = (await readFile(join(cluster, 'postmaster.pid'), 'utf8')).split('\n');
  const ended = once(child, 'exit');
  process.kill(-child.pid!, 'SIGKILL');
  process.kill(Number(pid), 'SIGKILL');
  await ended;
};

export const stopAll = async ({ process: child }: Started): Promise<void> => {
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  const [code] = (await ended) as [number];
  requireEqual('exit code', 0, code);
};

const roundOf = async (bench: Bench, uid: number | undefined): Promise<{ fresh: number; again: number }> => {
  const sources = await sourcesFile(bench, OWN_ONLY);
  await chmod(join(sources, '..'), 0o755);
  const dataDir = await mkdtemp(join(tmpdir(), 'threat-protection-bench-'));
  if (uid !== undefined) await chown(dataDir, uid, uid);
  else if (process.getuid?.() === 0) await chmod(dataDir, 0o711);
  try {
    const first = await startAll(dataDir, sources, uid);
    await killAll(first, dataDir);
    const second = await startAll(dataDir, sources, uid);
    await stopAll(second);
    return { fresh: first.seconds, again: second.seconds };
  } finally {
    await rm(dataDir, { recursive: true, force: true, maxRetries: 20 });
  }
};

/** Measures the seconds from a start until the service is ready: on an empty folder, and again after a kill. */
export const startUp: Goal = {
  name: 'G7',
  run: async (bench) => {
    const isRoot = process.getuid?.() === 0;
    const users: [string, number | undefined][] = isRoot
      ? [
          ['root', undefined],
          ['ordinary user', NOBODY],
        ]
      : [['ordinary user', undefined]];
    const lines: Measured[] = [];
    for (const [name, uid] of users) {
      const rounds = [];
      for (let round = 0; round < (bench.sizes.quick ? 1 : 5); round += 1) {
        rounds.push(await roundOf(bench, uid));
        const { fresh, again } = rounds.at(-1)!;
        bench.say(`G7 ${name}: ready after ${fresh.toFixed(2)} s, after a kill ${again.toFixed(2)} s`);
      }
      const against = '-';
      lines.push(
        {
          what: `first start until ready, ${name}`,
          against,
          measured: quartilesOf(rounds.map(({ fresh }) => fresh)),
          unit: 's',
          must: 4,
          aim: 2,
          more: false,
        },
        {
          what: `restart after kill -9 of service and database, ${name}`,
          against,
          measured: quartilesOf(rounds.map(({ again }) => again)),
          unit: 's',
          must: 2,
          aim: 1,
          more: false,
        },
      );
    }
    return lines;
  },
};
