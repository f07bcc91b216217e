import { fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Agent } from 'node:http';
import { fileURLToPath } from 'node:url';
import { EventStoreDBClient, streamNameFilter } from '@eventstore/db-client';
import type { EventLog } from '../../src/event-log/event-log.js';
import { createEventStoreDbLog } from '../../src/event-log/eventstoredb/log.js';
import { STREAM_PREFIXES } from '../../src/events/streams.js';
import { setTimeout as sleep } from 'node:timers/promises';
import { issueApiKey } from '../../src/api-keys/issue-api-key.js';
import { cloudEvent } from '../support/upstream.js';
import type { Appending, Filling } from './appender.js';
import { distinctEvents } from './distinct-events.js';
import { requireEqual } from './equal.js';
import { storedEvents, upstreamEvents } from './events.js';
import { type Bench, type Goal, type Line, measure, rates } from './goal.js';
import type { Database } from './database.js';
import { forget, project } from './log-work.js';
import { inParallel, type Slice } from './paired.js';
import { post } from './post.js';
import { startChild } from './process.js';
import { startApi } from './services.js';
import { untilTaken, withPrefix } from './store-access.js';

/** The server the run is told of, or the double in a process of its own. */
const openStore = async (bench: Bench): Promise<string> => {
  const given = process.env['TEST_EVENTSTORE_URL'];
  if (given) return given;
  const server = fork(fileURLToPath(new URL('../support/eventstore-double/main.js', import.meta.url)));
  const [{ url }] = (await once(server, 'message')) as [{ url: string }];
  bench.onEnd(async () => server.disconnect());
  return url;
};

/** A log in the store: nothing of it is at or before `origin`, so what the store held before is not passed over. */
interface Stored {
  readonly log: EventLog;
  readonly prefix: string;
  readonly origin: bigint;
}

/** Follows a log from its origin until there is enough. */
type Follow = (isEnough: (count: number) => boolean) => Promise<void>;

/** Follows a whole log, and again until about so long has passed. */
const following =
  (total: number, follow: Follow): Slice =>
  async (ms) => {
    const from = performance.now();
    let done = 0;
    do {
      let seen = 0;
      await follow((count) => (seen += count) >= total);
      done += seen;
    } while (performance.now() - from < ms);
    return (done * 1_000) / (performance.now() - from);
  };

const withClient =
  (client: EventStoreDBClient, { prefix, origin }: Stored): Follow =>
  async (isEnough) => {
    const subscription = client.subscribeToAll(
      {
        fromPosition: { commit: origin, prepare: origin },
        filter: streamNameFilter({
          prefixes: STREAM_PREFIXES.map((name) => prefix + name),
          // As the adapter asks, so that neither is told more of what lies between.
          maxSearchWindow: 2_048,
          checkpointInterval: 1,
        }),
      },
      { highWaterMark: 256 },
    );
    await new Promise<void>((resolve, reject) => {
      const onEvent = (): void => {
        if (!isEnough(1)) return;
        subscription.off('data', onEvent);
        resolve();
      };
      subscription.on('data', onEvent);
      subscription.on('error', reject);
    });
    await subscription.unsubscribe();
    subscription.destroy();
  };

const withAdapter =
  ({ log, origin }: Stored): Follow =>
  async (isEnough) => {
    const stop = new AbortController();
    await log.subscribe(
      origin,
      async ({ events }) => {
        if (isEnough(events.length)) stop.abort();
      },
      stop.signal,
    );
  };

/** The projector over the same log, begun anew where it ends. */
const projecting = async ({ log, origin }: Stored, database: Database): Promise<Slice> => {
  const positions: bigint[] = [];
  for (let page; page === undefined || page.length > 0; positions.push(...page.map(({ position }) => position)))
    page = await log.readAll(positions.at(-1) ?? origin, 1_000);
  const filled = { database, log, origin, events: positions.length };
  return async (ms) => {
    let done = 0;
    let tookMs = 0;
    while (tookMs < ms) {
      await forget(database.pool);
      const from = performance.now();
      const reached = await project(
        filled,
        database.pool,
        (at) => tookMs + performance.now() - from >= ms || at >= positions.at(-1)!,
      );
      tookMs += performance.now() - from;
      // It may be past them, in what others wrote.
      done += positions.findLastIndex((position) => position <= reached) + 1;
    }
    return (done * 1_000) / tookMs;
  };
};

interface Appender {
  /** Slices of so many lots of appends at a time, each sent at once and waited for. */
  readonly appending: (lots: number, lot?: number) => Slice;
  /** What another service writes to the same store. */
  readonly fill: (foreign: number) => Promise<unknown>;
}

const startAppender = async (
  bench: Bench,
  kind: 'adapter' | 'client',
  url: string,
  prefix: string,
): Promise<Appender> => {
  const child = await startChild('test/bench/appender.js', [kind, url, prefix, randomBytes(4).toString('hex')]);
  bench.onEnd(() => child.stop());
  const ask = async (asked: Appending | Filling): Promise<number> => {
    child.process.send(asked);
    const [{ done, error }] = (await once(child.process, 'message')) as [{ done: number; error?: string }];
    if (error !== undefined) throw new Error(`The ${kind}: ${error}`);
    return done;
  };
  return {
    appending:
      (lots, lot = 1) =>
      (ms) =>
        ask({ lots, lot, ms }),
    fill: (foreign) => ask({ foreign }),
  };
};

const INGESTED_AT_ONCE = 1_000;

/** Batches through the endpoint of an API, without a projector. Each event is another threat's, so another stream's. */
const ingesting = async (bench: Bench, storeUrl: string, log: EventLog): Promise<Slice> => {
  const { url } = await startApi(bench, await bench.database(), undefined, { EVENTSTORE_URL: storeUrl });
  const { key } = await issueApiKey(log, { scopes: ['ingest'] });
  await sleep(1_000);
  const agent = new Agent({ keepAlive: true });
  bench.onEnd(async () => agent.destroy());
  let batches = 0;
  const one = async (): Promise<void> => {
    const events = upstreamEvents(INGESTED_AT_ONCE, (batches += 1)).map((event) => cloudEvent(event));
    const body = Buffer.from(JSON.stringify(events));
    await untilTaken(() => post(agent, url, key, body));
  };
  // Twice, so that one is read while the other is stored.
  const slice = inParallel(2, one);
  return async (ms) => (await slice(ms)) * INGESTED_AT_ONCE;
};

/** The adapter beside the bare client, on the same server: appending, following, projecting. */
export const eventStore: Goal = {
  name: 'ES',
  run: async (bench) => {
    const url = await openStore(bench);
    // A server may be kept; what this run writes is apart from what others wrote.
    const run = Date.now().toString(16).slice(-8);
    const openLog = async (prefix: string): Promise<EventLog> => {
      const log = await createEventStoreDbLog(withPrefix(url, prefix));
      bench.onEnd(() => log.close());
      return log;
    };
    const log = await openLog(`bench.${run}.`);
    const client = EventStoreDBClient.connectionString(url);
    bench.onEnd(() => client.dispose());
    const next = distinctEvents(run);
    const bareClient = await startAppender(bench, 'client', url, `bench.${run}.`);
    const adapter = await startAppender(bench, 'adapter', url, `bench.${run}.`);
    const lines: Line[] = [];
    const line = (what: string, against: string, must: number, paired: Awaited<ReturnType<typeof measure>>): void => {
      lines.push({
        goal: 'ES',
        what,
        against,
        measured: paired.ratio,
        unit: '',
        must,
        note: rates(paired, 'a second'),
      });
    };

    const once1 = [next(), next()];
    requireEqual(
      'new, then known',
      [await log.appendAll(once1), await log.appendAll(once1)],
      [
        [false, false],
        [true, true],
      ],
    );
    for (const inFlight of [1, 16, 256]) {
      const paired = await measure(bench, `ES ${inFlight} in flight`, {
        base: bareClient.appending(inFlight),
        target: adapter.appending(inFlight),
      });
      line(`EventStoreDB: append, ${inFlight} in flight`, 'the bare client', 0.9, paired);
    }
    line(
      'EventStoreDB: append, batches of 200 over as many streams',
      'the bare client',
      0.9,
      await measure(bench, 'ES batches', {
        base: bareClient.appending(1, 200),
        target: adapter.appending(1, 200),
      }),
    );

    line(
      'EventStoreDB: POST /v2/events, batches of 1,000, no projector',
      'the bare client, 256 in flight',
      0.8,
      await measure(
        bench,
        'ES ingestion',
        {
          base: bareClient.appending(256),
          target: await ingesting(bench, withPrefix(url, `bench.${run}.`), log),
        },
        // A batch takes half a second, and a slice should be of many.
        bench.sizes.quick ? bench.sizes.dose : { rounds: 8, ms: 4_000 },
      ),
    );
    const tls = process.env['TEST_EVENTSTORE_TLS_URL'];
    if (tls) {
      const secure = await startAppender(bench, 'adapter', tls, `bench.${run}.`);
      line(
        'EventStoreDB: append over TLS with a user, 256 in flight',
        'the same in the plain',
        0.8,
        await measure(bench, 'ES TLS', {
          base: adapter.appending(256),
          target: secure.appending(256),
        }),
      );
    }

    const events = bench.sizes.quick ? 2_000 : 60_000;
    const foreign = bench.sizes.quick ? 3_000 : 1_000_000;
    const entries = storedEvents(upstreamEvents(events));
    const fill = async (target: EventLog, from: number, to: number): Promise<void> => {
      for (let at = from; at < to; at += 1_000)
        await untilTaken(() => target.appendAll(entries.slice(at, Math.min(at + 1_000, to))));
    };
    const database = await bench.database();
    const follow = async (where: string, stored: Stored): Promise<void> => {
      const bare = following(events, withClient(client, stored));
      line(
        `EventStoreDB: following from the beginning, ${where}`,
        'the bare subscription',
        0.9,
        await measure(bench, `ES following, ${where}`, { base: bare, target: following(events, withAdapter(stored)) }),
      );
      line(
        `EventStoreDB: projecting from the beginning, ${where}`,
        'the bare subscription doing nothing',
        0.5,
        await measure(
          bench,
          `ES projecting, ${where}`,
          { base: bare, target: await projecting(stored, database) },
          bench.sizes.quick ? bench.sizes.dose : { rounds: 8, ms: 2_000 },
        ),
      );
      await forget(database.pool);
    };
    const begin = async (prefix: string): Promise<Stored> => {
      const begun = await openLog(prefix);
      return { log: begun, prefix, origin: await begun.head() };
    };
    bench.say(`Fills the event store with ${events.toLocaleString('en-US')} events`);
    const alone = await begin(`full.${run}.`);
    await fill(alone.log, 0, events);
    await follow('alone', alone);
    bench.say(`The same, with ${foreign.toLocaleString('en-US')} events of others before, between and after`);
    const shared = await begin(`shared.${run}.`);
    await bareClient.fill(foreign / 3);
    await fill(shared.log, 0, events / 2);
    await bareClient.fill(foreign / 3);
    await fill(shared.log, events / 2, events);
    await bareClient.fill(foreign / 3);
    await follow('in a shared store', shared);
    return { lines };
  },
};
