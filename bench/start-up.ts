import { once } from 'node:events';
import { chmod, chown, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findClusterLayout } from '../src/postgres/embedded/cluster-layout.js';
import type { Bench, Goal, Measured } from './goal.js';
import { startAll, type Started, stopAll } from './installation.js';
import { OWN_ONLY, sourcesFile } from './services.js';
import { quartilesOf } from './statistics.js';

const NOBODY = 65_534;

/** Kills all processes and the database, like a power cut. */
const killAll = async ({ process: child }: Started, dataDir: string): Promise<void> => {
  const { cluster } = await findClusterLayout(dataDir);
  const [pid] = (await readFile(join(cluster, 'postmaster.pid'), 'utf8')).split('\n');
  const ended = once(child, 'exit');
  process.kill(-child.pid!, 'SIGKILL');
  process.kill(Number(pid), 'SIGKILL');
  await ended;
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
