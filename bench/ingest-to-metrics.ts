import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { cloudEvent, sent } from '../test/support/upstream.js';
import { requireEqual } from './equal.js';
import type { Goal } from './goal.js';
import { post } from './post.js';
import { startChild } from './process.js';
import { issueKeys, startApi, temporaryFolder } from './services.js';
import { quantile, quartilesOf } from './statistics.js';

export const PER_SECOND = 500;
export const SINGLE_TYPE = 'application/cloudevents+json';

/** A threat of an organization, in the middle of the days. */
export const threatOf = (organization: string, n: number) => {
  const at = new Date(1_750_000_000_000 + n * 1_000).toISOString();
  const asset = { type: 'URL', content: `site-${n}.example` };
  const id = `${organization}-${n}`;
  const data = { organization, threatId: id, asset, status: 'BLOCKED', createdAt: at, updatedAt: at };
  return Buffer.from(JSON.stringify(cloudEvent(sent('ThreatStatusChanged', data, id))));
};

/** From the answer at the door to the metrics that count it, over HTTP at both ends, events coming singly. */
export const ingestToMetrics: Goal = {
  name: 'G8',
  run: async (bench) => {
    const database = await bench.database();
    const { url } = await startApi(bench, database);
    const env = { DATABASE_URL: database.url, DATA_DIR: await temporaryFolder(bench) };
    const projector = startChild('projections/main.js', [], env);
    bench.onEnd(async () => (await projector).stop());
    await projector;
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
      /** When the n-th was answered, and when n were counted. */
      const answered: number[] = [];
      const counted: number[] = [];
      const ask = async (): Promise<number> => {
        const response = await fetch(`${url}/v2/organization/metrics`, { headers: { 'x-api-key': keys[window]! } });
        return ((await response.json()) as { metrics: { newThreats: number } }).metrics.newThreats;
      };
      const watch = async (): Promise<void> => {
        while (counted.length < count) {
          const n = await ask();
          const now = performance.now();
          while (counted.length < n) counted.push(now);
          await sleep(2);
        }
      };
      const watching = watch();
      const from = performance.now();
      const sending: Promise<unknown>[] = [];
      for (let n = 0; n < count; n += 1) {
        const due = from + (n * 1000) / PER_SECOND;
        if (due > performance.now()) await sleep(Math.max(0, due - performance.now()));
        const sendOne = post(agent, url, ingest!, threatOf(organization, n), SINGLE_TYPE);
        sending.push(sendOne.then(() => answered.push(performance.now())));
      }
      await Promise.all(sending);
      const rate = (count * 1000) / (performance.now() - from);
      await watching;
      requireEqual('counted', count, await ask());
      const delays = answered.map((at, n) => Math.max(0, counted[n]! - at));
      p99.push(quantile(delays, 0.99));
      p50.push(quantile(delays, 0.5));
      bench.say(
        `G8: ${Math.round(rate)} a second, half within ${p50.at(-1)!.toFixed(0)} ms, p99 ${p99.at(-1)!.toFixed(0)} ms`,
      );
    }
    agent.destroy();
    return {
      lines: [
        {
          goal: 'G8',
          what: `answered at the door → counted in metrics, ${PER_SECOND} events a second, p99`,
          against: 'the clock',
          measured: quartilesOf(p99),
          unit: 'ms',
          must: 500,
          aim: 100,
          more: false,
          note: `half within ${quantile(p50, 0.5).toFixed(0)} ms`,
        },
      ],
    };
  },
};
