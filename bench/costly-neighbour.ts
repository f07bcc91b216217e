import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { hostileContents } from '../test/support/cases/hostile-shapes.js';
import { forgetLastTwo } from '../test/support/forget-last-two.js';
import { cloudEvent, sent } from '../test/support/upstream.js';
import { parseContent } from '../src/assets/parse-content.js';
import type { Goal } from './goal.js';
import { followMetrics } from './ingest-to-metrics.js';
import { post } from './post.js';
import { issueKeys, startApi, startProjector } from './services.js';
import { sendSingly, threatOf } from './single-events.js';
import { quantile, quartilesOf } from './statistics.js';

const NEIGHBOUR = 'neighbour';
const CONNECTIONS = 4;
const BATCH = 450;
const LENGTH = 4_096;
const PER_SECOND = 50;
/** The pause after a request that backpressure rejects, in ms. */
const PAUSE_MS = 100;
const SHAPES = 5;

const costOf = (content: string): number => {
  const times = Array.from({ length: 5 }, () => {
    forgetLastTwo();
    const started = performance.now();
    parseContent(content);
    return performance.now() - started;
  });
  return Math.min(...times);
};

/** Returns the contents that take longest to read. */
const costlyContents = (): string[] =>
  hostileContents(LENGTH)
    .map(([, content]) => ({ content: content.toWellFormed().replaceAll('\0', ''), cost: costOf(content) }))
    .sort((one, other) => other.cost - one.cost)
    .slice(0, SHAPES)
    .map(({ content }) => content);

/** Returns an ordinary content with as many bytes. */
const ordinaryOf = (content: string): string =>
  `https://site.example/${'a'.repeat(Math.max(0, Math.min(LENGTH, Buffer.byteLength(content)) - 21))}`;

/** Measures how long the events of one organization wait while another sends the events that are most costly to read. */
export const costlyNeighbour: Goal = {
  name: 'G24',
  run: async (bench) => {
    const database = await bench.database();
    const unlimited = { INGEST_EVENTS_PER_DAY: '1000000000', INGEST_BYTES_PER_DAY: '1000000000000' };
    const { url } = await startApi(bench, database, 'src/main.js', unlimited);
    await startProjector(bench, database);
    const costly = costlyContents();
    const { rounds } = bench.sizes.schedule;
    const windows = Array.from({ length: 2 * rounds }, (_, n) => `window-${n}`);
    const [neighbour] = await issueKeys(database, ['ingest'], [NEIGHBOUR]);
    const [upstream] = await issueKeys(database, ['ingest'], [undefined]);
    const keys = await issueKeys(database, ['read'], windows);
    const agent = new Agent({ keepAlive: true, maxSockets: 32 });
    let sentEvents = 0;
    const makeNoise = async (contents: readonly string[], stop: AbortSignal): Promise<void> => {
      while (!stop.aborted) {
        const events = Array.from({ length: BATCH }, () => {
          const id = `n-${(sentEvents += 1)}`;
          const at = new Date(1_750_000_000_000 + sentEvents).toISOString();
          const asset = { type: 'URL', content: contents[sentEvents % contents.length]! };
          const times = { createdAt: at, updatedAt: at };
          return cloudEvent(
            sent(
              'ThreatStatusChanged',
              { organization: NEIGHBOUR, threatId: id, asset, status: 'BLOCKED', ...times },
              id,
            ),
          );
        });
        await post(agent, url, neighbour!, Buffer.from(JSON.stringify(events))).catch(() => sleep(PAUSE_MS));
      }
    };
    const count = Math.max(10, Math.round((PER_SECOND * bench.sizes.schedule.ms * 4) / 1_000));
    const delaysDuring = async (contents: readonly string[], window: number): Promise<number> => {
      const organization = windows[window]!;
      const stop = new AbortController();
      const noise = Array.from({ length: CONNECTIONS }, () => makeNoise(contents, stop.signal));
      await sleep(bench.sizes.quick ? 0 : 2_000);
      const delaysOf = await followMetrics({ url, key: keys[window]!, count });
      const eventOf = (n: number): readonly [string, Buffer] => {
        const id = `${organization}-${n}`;
        return [id, threatOf(organization, id, n)];
      };
      const acknowledged = await sendSingly({ agent, url, key: upstream! }, { count, perSecond: PER_SECOND }, eventOf);
      const delays = await delaysOf(acknowledged);
      stop.abort();
      await Promise.all(noise);
      return quantile(delays, 0.99);
    };
    const ratios: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const ordinaryMs = await delaysDuring(costly.map(ordinaryOf), 2 * round);
      const costlyMs = await delaysDuring(costly, 2 * round + 1);
      ratios.push(costlyMs / ordinaryMs);
      bench.say(`G24: p99 ${costlyMs.toFixed(0)} ms, with ordinary events ${ordinaryMs.toFixed(0)} ms`);
    }
    agent.destroy();
    return [
      {
        what: `one organization sends the events that are most costly to read: another one's event counted, p99`,
        against: 'ordinary events of the same size',
        measured: quartilesOf(ratios),
        unit: '×',
        must: 2,
        aim: 1.2,
        more: false,
      },
    ];
  },
};
