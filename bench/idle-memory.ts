import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Bench, Goal, Measured } from './goal.js';
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
