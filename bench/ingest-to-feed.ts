import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Goal } from './goal.js';
import { requireEqual } from './equal.js';
import { PER_SECOND, SINGLE_TYPE, threatOf } from './ingest-to-metrics.js';
import { post } from './post.js';
import { startChild } from './process.js';
import { issueKeys, startApi, temporaryFolder } from './services.js';
import { quantile, quartilesOf } from './statistics.js';

/** From the answer to an event to the answer of a request that waited for it at the feed, events coming singly. */
export const ingestToFeed: Goal = {
  name: 'G18a',
  run: async (bench) => {
    const database = await bench.database();
    const { url } = await startApi(bench, database);
    const env = { DATABASE_URL: database.url, DATA_DIR: await temporaryFolder(bench) };
    const projector = await startChild('projections/main.js', [], env);
    bench.onEnd(() => projector.stop());
    const { quick } = bench.sizes;
    const windows = quick ? 1 : 6;
    const seconds = quick ? 0.5 : 4;
    const organizations = Array.from({ length: windows }, (_, window) => `window-${window}`);
    const [ingest] = await issueKeys(database, ['ingest'], [undefined]);
    const keys = await issueKeys(database, ['read'], organizations);
    const agent = new Agent({ keepAlive: true, maxSockets: 32 });
    const p99: number[] = [];
    const p50: number[] = [];
    for (const [window, organization] of organizations.entries()) {
      const count = Math.round(PER_SECOND * seconds);
      /** When each was answered, and when it came out of the feed, by its id. */
      const answered = new Map<string, number>();
      const seen = new Map<string, number>();
      const follow = async (): Promise<void> => {
        for (let last = ''; seen.size < count;) {
          const answer = await fetch(`${url}/v2/organization/feed?timeout=20000${last}`, {
            headers: { 'x-api-key': keys[window]! },
          });
          if (answer.status === 503) {
            // The lists are not filled yet.
            await sleep(100);
            continue;
          }
          const elements = (await answer.json()) as { id: string; subject: string }[];
          const now = performance.now();
          for (const { subject } of elements) seen.set(subject, now);
          if (elements.length > 0) last = `&lastEventId=${elements.at(-1)!.id}`;
        }
      };
      const following = follow();
      await sleep(500);
      const from = performance.now();
      const sending: Promise<unknown>[] = [];
      for (let n = 0; n < count; n += 1) {
        const due = from + (n * 1000) / PER_SECOND;
        if (due > performance.now()) await sleep(Math.max(0, due - performance.now()));
        const sendOne = post(agent, url, ingest!, threatOf(organization, n), SINGLE_TYPE);
        sending.push(sendOne.then(() => answered.set(`${organization}-${n}`, performance.now())));
      }
      await Promise.all(sending);
      await following;
      requireEqual('came out of the feed', [...answered.keys()].sort(), [...seen.keys()].sort());
      const delays = [...answered].map(([id, at]) => Math.max(0, seen.get(id)! - at));
      p99.push(quantile(delays, 0.99));
      p50.push(quantile(delays, 0.5));
      bench.say(`G18a: half within ${p50.at(-1)!.toFixed(0)} ms, p99 ${p99.at(-1)!.toFixed(0)} ms`);
    }
    agent.destroy();
    return {
      lines: [
        {
          goal: 'G18a',
          what: `acknowledged → in a request that waits at the feed, ${PER_SECOND} events a second, p99`,
          against: 'the clock',
          measured: quartilesOf(p99),
          unit: 'ms',
          must: 150,
          aim: 60,
          more: false,
          note: `half within ${quantile(p50, 0.5).toFixed(0)} ms`,
        },
      ],
    };
  },
};
