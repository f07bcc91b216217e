import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { EventStoreDBClient, jsonEvent, START, streamNameFilter } from '@eventstore/db-client';
import { BEGINNING, type EventLog } from '../../src/event-log/event-log.js';
import { createEventStoreDbLog } from '../../src/event-log/eventstoredb/log.js';
import { STREAM_PREFIXES } from '../../src/events/streams.js';
import { requireEqual } from './equal.js';
import { storedEvents, upstreamEvents } from './events.js';
import { type Bench, type Goal, type Line, measure, rates } from './goal.js';
import type { Database } from './database.js';
import { forget, project } from './log-work.js';
import { inParallel, type Slice } from './paired.js';

/** The server the run is told of, or the double in a process of its own. */
const openStore = async (bench: Bench): Promise<string> => {
  const given = process.env['EVENTSTORE_TEST_URL'];
  if (given) return given;
  const server = fork(fileURLToPath(new URL('../support/eventstore-double/main.js', import.meta.url)));
  const [{ url }] = (await once(server, 'message')) as [{ url: string }];
  bench.onEnd(async () => server.disconnect());
  return url;
};

type Follow = (onEvents: (count: number) => boolean) => Promise<void>;

/** Follows a log of so many events for about so long, and again from its beginning where it ends. */
const following =
  (total: number, follow: Follow): Slice =>
  async (ms) => {
    const from = performance.now();
    let done = 0;
    while (performance.now() - from < ms) {
      let seen = 0;
      await follow((count) => {
        done += count;
        seen += count;
        return seen >= total || performance.now() - from >= ms;
      });
    }
    return (done * 1_000) / (performance.now() - from);
  };

const withClient =
  (client: EventStoreDBClient, prefix: string): Follow =>
  async (isEnough) => {
    const subscription = client.subscribeToAll(
      {
        fromPosition: START,
        filter: streamNameFilter({
          prefixes: STREAM_PREFIXES.map((name) => prefix + name),
          // As the adapter asks, so that neither is told more of what lies between.
          checkpointInterval: 64,
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
  (log: EventLog): Follow =>
  async (isEnough) => {
    const stop = new AbortController();
    await log.subscribe(
      BEGINNING,
      async ({ events }) => {
        if (isEnough(events.length)) stop.abort();
      },
      stop.signal,
    );
  };

/** The projector over the same log, begun anew where it ends. */
const projecting = async (log: EventLog, database: Database): Promise<Slice> => {
  const positions: bigint[] = [];
  for (let page; page === undefined || page.length > 0; positions.push(...page.map(({ position }) => position)))
    page = await log.readAll(positions.at(-1) ?? BEGINNING, 1_000);
  const filled = { database, log, events: positions.length };
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
      done += positions.findIndex((position) => position >= reached) + 1;
    }
    return (done * 1_000) / tookMs;
  };
};

/** The adapter beside the bare client, on the same server: appending, following, projecting. */
export const eventStore: Goal = {
  name: 'ES',
  run: async (bench) => {
    const url = await openStore(bench);
    // A server may be kept; what this run writes is apart from what others wrote.
    const run = Date.now().toString(16).slice(-8);
    const openLog = async (prefix: string): Promise<EventLog> => {
      const log = await createEventStoreDbLog(`${url}${url.includes('?') ? '&' : '?'}streamPrefix=${prefix}`);
      bench.onEnd(() => log.close());
      return log;
    };
    const log = await openLog(`bench.${run}.`);
    const client = EventStoreDBClient.connectionString(url);
    const made = storedEvents(upstreamEvents(1_000, 997));
    let n = 0;
    const next = (): (typeof made)[number] => {
      const { stream, event } = made[(n += 1) % made.length]!;
      const id = `${run}-0000-4000-8000-${String(n).padStart(12, '0')}`;
      return { stream: `${stream}-${run}-${n}`, event: { ...event, id } };
    };
    const appendWithClient = ({ stream, event }: (typeof made)[number]): Promise<unknown> =>
      client.appendToStream(`bench.${run}.${stream}`, [jsonEvent(event as never)]);
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
        base: inParallel(inFlight, () => appendWithClient(next())),
        target: inParallel(inFlight, () => log.appendAll([next()])),
      });
      line(`EventStoreDB: append, ${inFlight} in flight`, 'the bare client', 0.9, paired);
    }
    const batch = (): (typeof made)[number][] => Array.from({ length: 200 }, next);
    line(
      'EventStoreDB: append, batches of 200 over as many streams',
      'the bare client',
      0.9,
      await measure(bench, 'ES batches', {
        base: inParallel(1, () => Promise.all(batch().map(appendWithClient))),
        target: inParallel(1, () => log.appendAll(batch())),
      }),
    );

    const events = bench.sizes.quick ? 2_000 : 60_000;
    bench.say(`Fills the event store with ${events.toLocaleString('en-US')} events`);
    const full = await openLog(`full.${run}.`);
    const entries = storedEvents(upstreamEvents(events));
    for (let from = 0; from < events; from += 1_000) await full.appendAll(entries.slice(from, from + 1_000));
    const total = events + 1;
    const bare = following(total, withClient(client, `full.${run}.`));
    line(
      'EventStoreDB: following from the beginning',
      'the bare subscription',
      0.9,
      await measure(bench, 'ES following', { base: bare, target: following(total, withAdapter(full)) }),
    );
    line(
      'EventStoreDB: projecting from the beginning',
      'the bare subscription doing nothing',
      0.5,
      await measure(
        bench,
        'ES projecting',
        { base: bare, target: await projecting(full, await bench.database()) },
        bench.sizes.quick ? bench.sizes.dose : { rounds: 8, ms: 2_000 },
      ),
    );
    await client.dispose();
    return { lines };
  },
};
