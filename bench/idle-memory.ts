import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Bench, Goal, Measured } from './goal.js';
import { processTree, startInstallation } from './installation.js';
import { phishingHosts } from './lists.js';
import { requestJson } from './load.js';
import { issueKeys, OWN_ONLY, sourcesFile, startApi, temporaryFolder } from './services.js';
import { quartilesOf } from './statistics.js';

const SETTLED_MS = 5_000;

/** Returns the resident memory of a process, in MB. */
export const residentMegabytes = async (pid: number): Promise<number> => {
  const { stdout } = await promisify(execFile)('ps', ['-o', 'rss=', '-p', String(pid)]);
  return Number(stdout.trim()) / 1024;
};

/** Returns the memory of an API in MB, some seconds after its start or after it has loaded the list with `listed`. */
const measureOnce = async (bench: Bench, sources: string, listed: string | undefined): Promise<number> => {
  const database = await bench.database();
  const { url, child } = await startApi(bench, database, 'src/main.js', { SOURCES_FILE: sources });
  if (listed !== undefined) {
    const [key] = await issueKeys(database, ['read'], ['org-1']);
    const check = { method: 'POST', path: '/v2/asset/check', body: { content: listed } } as const;
    for (let attempt = 0; ; attempt += 1) {
      const { status } = (await requestJson(url, key!, check)) as { status: string };
      if (status === 'BLOCKED') break;
      if (attempt > 600) throw new Error('The list was not loaded within a minute');
      await sleep(100);
    }
  }
  await sleep(bench.sizes.quick ? 200 : SETTLED_MS);
  const megabytes = await residentMegabytes(child.process.pid!);
  await child.stop();
  return megabytes;
};

/** Measures the resident memory of an idle API, and of an API with a large list. */
export const idleMemory: Goal = {
  name: 'G9',
  run: async (bench) => {
    const { quick } = bench.sizes;
    const hosts = phishingHosts(quick ? 10_000 : 1_000_000);
    const file = join(await temporaryFolder(bench), 'hosts.txt');
    await writeFile(file, hosts.join('\n'));
    const listing = { sources: [...OWN_ONLY.sources, { id: 'hosts', kind: 'list', format: 'plain', file }] };
    const cases = [
      { what: 'API idle', sources: OWN_ONLY, listed: undefined, must: 140, aim: 100 },
      { what: 'API with 1 M listed hosts', sources: listing, listed: hosts.at(-1), must: 175, aim: 130 },
    ];
    const lines: Measured[] = [];
    for (const { what, sources, listed, must, aim } of cases) {
      const rounds: number[] = [];
      for (let round = 0; round < (quick ? 1 : 3); round += 1) {
        rounds.push(await measureOnce(bench, await sourcesFile(bench, sources), listed));
        bench.say(`G9 ${what}: ${rounds.at(-1)!.toFixed(0)} MB`);
      }
      lines.push({
        what: `memory: ${what}`,
        against: '-',
        measured: quartilesOf(rounds),
        unit: 'MB',
        must,
        aim,
        more: false,
      });
    }
    return lines;
  },
};

/** Returns the proportional set size of a process in MB; 0 if it has ended. */
const proportionalMegabytes = (pid: number): number => {
  try {
    return Number(/^Pss: +(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))![1]) / 1_024;
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code!)) return 0;
    throw error;
  }
};

/**
 * Measures the resident memory of all processes of an empty installation and its PostgreSQL. Memory that several
 * processes share, such as the buffers of PostgreSQL, is counted once.
 */
export const restingMemory: Goal = {
  name: 'G31',
  startsAnyBuild: true,
  run: async (bench) => {
    const { quick } = bench.sizes;
    const rounds: number[] = [];
    for (let round = 0; round < (quick ? 1 : 3); round += 1) {
      const { pid, stop } = await startInstallation(bench);
      await sleep(quick ? 200 : SETTLED_MS);
      rounds.push(processTree(pid).reduce((sum, each) => sum + proportionalMegabytes(each), 0));
      await stop();
      bench.say(`G31: ${rounds.at(-1)!.toFixed(0)} MB`);
    }
    return [
      {
        what: 'memory: all processes of `npm start` at rest and PostgreSQL',
        against: '-',
        measured: quartilesOf(rounds),
        unit: 'MB',
        must: 240,
        aim: 200,
        more: false,
      },
    ];
  },
};
