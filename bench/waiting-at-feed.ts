import { Agent, get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { LARGEST_ORGANIZATION } from './facts.js';
import type { Goal } from './goal.js';
import { residentMegabytes } from './idle-memory.js';
import { listedRecords } from './listed-records.js';
import { startLoad, loadSlice, rawRequest } from './load.js';
import { issueKeys, startApi } from './services.js';
import { quartilesOf } from './statistics.js';

const WAITING = 2_000;
const PER_ORGANIZATION = 50;
const SETTLED_MS = 2_000;

/** Measures how 2,000 long polls of the feed affect the memory of the process and the latency of other requests. */
export const waitingAtFeed: Goal = {
  name: 'G18c',
  run: async (bench) => {
    const { database } = await listedRecords(bench);
    const { url, child } = await startApi(bench, database);
    const { quick } = bench.sizes;
    const waiting = quick ? 200 : WAITING;
    const owners = Array.from({ length: waiting / PER_ORGANIZATION }, (_, n) => `waits-${n}`);
    const keys = await issueKeys(database, ['read'], owners);
    const [other] = await issueKeys(database, ['read'], [LARGEST_ORGANIZATION]);
    const load = await startLoad(bench);
    const p99: number[] = [];
    const request = rawRequest(url, other!, { method: 'GET', path: '/v2/organization/takedowns?limit=10' });
    const others = loadSlice(load, url, [request], 4, (answers) => p99.push(answers.p99));
    const { ms } = bench.sizes.schedule;
    /** Opens `count` long polls, calls `during`, and closes the long polls. */
    const whileWaiting = async (count: number, during: () => Promise<void>): Promise<void> => {
      const agent = new Agent({ maxSockets: Infinity });
      const requests = Array.from({ length: count }, (_, n) =>
        get(`${url}/v2/organization/feed?timeout=25000`, {
          agent,
          headers: { 'x-api-key': keys[n % keys.length]! },
        }).on('error', () => {}),
      );
      for (const each of requests)
        each.on('response', (response) => {
          if (response.statusCode !== 200) throw new Error(`A long poll got status ${response.statusCode}`);
        });
      await sleep(quick ? 500 : SETTLED_MS);
      await during();
      for (const each of requests) each.destroy();
      agent.destroy();
      await sleep(quick ? 100 : SETTLED_MS);
    };
    const pid = child.process.pid!;
    const megabytes: number[] = [];
    const times: number[] = [];
    const quietest: number[] = [];
    await others(ms);
    await whileWaiting(Math.min(waiting, 100), () => others(ms).then(() => undefined));
    for (let round = 0; round < (quick ? 1 : 4); round += 1) {
      await others(2 * ms);
      const quiet = p99.at(-1)!;
      const before = await residentMegabytes(pid);
      await whileWaiting(waiting, async () => {
        megabytes.push((await residentMegabytes(pid)) - before);
        await others(2 * ms);
      });
      quietest.push(quiet);
      times.push(p99.at(-1)! / quiet);
      bench.say(`G18c: ${megabytes.at(-1)!.toFixed(0)} MB, p99 of other requests × ${times.at(-1)!.toFixed(2)}`);
    }
    const what = `${waiting.toLocaleString('en-US')} long-polling requests at the feed`;
    return [
      {
        what: `${what}: memory`,
        against: 'the process before the long polls',
        measured: quartilesOf(megabytes),
        unit: 'MB',
        must: 40,
        more: false,
      },
      {
        what: `${what}: p99 of other requests`,
        against: 'other requests without long polls',
        measured: quartilesOf(times),
        unit: '×',
        must: 2,
        more: false,
        note: `quiet: ${quartilesOf(quietest).median.toFixed(1)} ms`,
      },
    ];
  },
};
