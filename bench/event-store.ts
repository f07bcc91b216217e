import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent } from 'node:http';
import { fileURLToPath } from 'node:url';
import { EventStoreDBClient } from '@eventstore/db-client';
import type { EventLog } from '../src/event-log/event-log.js';
import { createEventStoreDbLog } from '../src/event-log/eventstoredb/log.js';
import { setTimeout as sleep } from 'node:timers/promises';
import { issueApiKey } from '../src/api-keys/api-keys.js';
import { withPrefix } from '../test/support/event-store.js';
import { cloudEvent } from '../test/support/upstream.js';
import { distinctEvents } from './distinct-events.js';
import { requireEqual } from './equal.js';
import { storedEvents, upstreamEvents } from './events.js';
import { formatAmount, type Bench, type Goal, measure, type Measured, rates } from './goal.js';
import { following, projecting, type Stored, withAdapter, withClient } from './follow-store.js';
import { truncateReadModels } from './log-work.js';
import { inParallel, type Pair, type Slice, type SliceSchedule } from './paired.js';
import { post } from './post.js';
import { startApi } from './services.js';
import { startAppender } from './start-appender.js';
import { retryTimeouts } from './retry-timeouts.js';

/** The number of appends that the adapter keeps in flight. */
const IN_FLIGHT = 256;
const INGESTED_AT_ONCE = 1_000;
/** Enough upstream events to contain `INGESTED_AT_ONCE` that create a record. */
const CONTAINING = 1_300;

/** Returns the URL of the configured server, or starts the EventStoreDB double in a separate process. */
const urlOfStore = async (bench: Bench): Promise<string> => {
  const configuredUrl = process.env['TEST_EVENTSTORE_URL'];
  if (configuredUrl) return configuredUrl;
  const server = fork(fileURLToPath(new URL('../test/support/eventstore-double/main.js', import.meta.url)));
  const [{ url }] = (await once(server, 'message')) as [{ url: string }];
  bench.onEnd(async () => server.disconnect());
  return url;
};

/** Opens the store, with a process that appends with the adapter and one that appends with the bare client. */
const openStore = async (bench: Bench) => {
  const url = await urlOfStore(bench);
  // The server may contain events of earlier runs, so each run uses a prefix of its own.
  const run = Date.now().toString(16).slice(-8);
  const prefix = `bench.${run}.`;
  const openLog = async (ofLog: string): Promise<EventLog> => {
    const log = await createEventStoreDbLog(withPrefix(url, ofLog));
    bench.onEnd(() => log.close());
    return log;
  };
  const client = EventStoreDBClient.connectionString(url);
  bench.onEnd(() => client.dispose());
  return {
    url,
    run,
    prefix,
    openLog,
    client,
    log: await openLog(prefix),
    bareClient: await startAppender(bench, 'client', url, prefix),
    adapter: await startAppender(bench, 'adapter', url, prefix),
  };
};

/** The store that the goals of EventStoreDB share. */
const storeOf = (bench: Bench): ReturnType<typeof openStore> => bench.shared('event store', () => openStore(bench));

/** Measures a pair and keeps its line. */
const compare = async (
  bench: Bench,
  { what, against, must, aim }: Pick<Measured, 'what' | 'against' | 'must' | 'aim'>,
  pair: Pair,
  schedule?: SliceSchedule,
): Promise<void> => {
  const paired = await measure(bench, what, pair, schedule);
  const note = rates(paired, 'per second');
  bench.keep({ what: `EventStoreDB: ${what}`, against, measured: paired.ratio, must, aim, note });
};

/** Compares appending with the adapter with appending with the bare client on the same server. */
export const eventStoreAppends: Goal = {
  name: 'G10',
  run: async (bench) => {
    const { run, prefix, log, bareClient, adapter } = await storeOf(bench);
    const next = distinctEvents(run);
    const pair = [next(), next()];
    const append = async (): Promise<boolean[]> => (await log.appendAll(pair)).map(({ duplicate }) => duplicate);
    requireEqual(
      'first append, then repeated append',
      [await append(), await append()],
      [
        [false, false],
        [true, true],
      ],
    );
    const toClient = { against: 'the bare client', must: 0.9, aim: 1 };
    for (const inFlight of [1, 16, IN_FLIGHT])
      await compare(
        bench,
        { what: `append, ${inFlight} in flight`, ...toClient },
        { base: bareClient.appendSlice(inFlight), target: adapter.appendSlice(inFlight) },
      );
    await compare(
      bench,
      { what: 'append, batches of 200 events for 200 streams', ...toClient },
      { base: bareClient.appendSlice(1, 200), target: adapter.appendSlice(1, 200) },
    );
    const tls = process.env['TEST_EVENTSTORE_TLS_URL'];
    if (tls) {
      const secure = await startAppender(bench, 'adapter', tls, prefix);
      await compare(
        bench,
        {
          what: `append over TLS with a user, ${IN_FLIGHT} in flight`,
          against: 'the adapter without TLS',
          must: 0.8,
        },
        { base: adapter.appendSlice(IN_FLIGHT), target: secure.appendSlice(IN_FLIGHT) },
      );
    }
    return [];
  },
};

/** A slice of batches sent to `POST /v2/events`, without a projector. Each event creates a record and its stream. */
const ingesting = async (bench: Bench, storeUrl: string, log: EventLog): Promise<Slice> => {
  const { url } = await startApi(bench, await bench.database(), undefined, { EVENTSTORE_URL: storeUrl });
  const { key } = await issueApiKey(log, { scopes: ['ingest'] });
  await sleep(1_000);
  const agent = new Agent({ keepAlive: true });
  bench.onEnd(async () => agent.destroy());
  let batches = 0;
  const one = async (): Promise<void> => {
    const creating = upstreamEvents(CONTAINING, (batches += 1)).filter(({ id, data }) =>
      Object.values(data).includes(id),
    );
    const body = Buffer.from(JSON.stringify(creating.slice(0, INGESTED_AT_ONCE).map((event) => cloudEvent(event))));
    const { accepted } = await retryTimeouts(() => post(agent, url, key, body));
    requireEqual('events of a batch', INGESTED_AT_ONCE, accepted);
  };
  // Two senders, so that the API parses one batch while it stores the other.
  const slice = inParallel(2, one);
  return async (ms) => (await slice(ms)) * INGESTED_AT_ONCE;
};

/** Compares `POST /v2/events` with the bare client that appends to as many streams with as many appends in flight. */
export const eventStoreIngestion: Goal = {
  name: 'G13',
  run: async (bench) => {
    const { url, prefix, log, bareClient } = await storeOf(bench);
    await compare(
      bench,
      {
        what: 'POST /v2/events, batches of 1,000, no projector',
        against: `the bare client, ${IN_FLIGHT} in flight`,
        must: 0.8,
        aim: 0.95,
      },
      {
        base: bareClient.appendSlice(IN_FLIGHT),
        target: await ingesting(bench, withPrefix(url, prefix), log),
      },
      // A batch takes half a second, and a slice should contain many batches.
      bench.sizes.quick ? bench.sizes.schedule : { rounds: 8, ms: 4_000 },
    );
    return [];
  },
};

/** Fills the store with a log of its own, and with one that has events of another application before, between and after. */
const fillStore = async (bench: Bench) => {
  const { run, openLog, bareClient } = await storeOf(bench);
  const [events, foreign] = bench.sizes.quick ? [2_000, 3_000] : [60_000, 1_000_000];
  const entries = storedEvents(upstreamEvents(events));
  const fill = async (target: EventLog, from: number, to: number): Promise<void> => {
    for (let at = from; at < to; at += 1_000)
      await retryTimeouts(() => target.appendAll(entries.slice(at, Math.min(at + 1_000, to))));
  };
  const startLog = async (prefix: string): Promise<Stored> => {
    const log = await openLog(prefix);
    return { log, prefix, origin: await log.head() };
  };
  bench.say(`Fills the event store with ${formatAmount(events)} events`);
  const separate = await startLog(`full.${run}.`);
  await fill(separate.log, 0, events);
  bench.say(`Fills the event store again, with ${formatAmount(foreign)} events of another application`);
  const shared = await startLog(`shared.${run}.`);
  await bareClient.fill(foreign / 3);
  await fill(shared.log, 0, events / 2);
  await bareClient.fill(foreign / 3);
  await fill(shared.log, events / 2, events);
  await bareClient.fill(foreign / 3);
  const logs = { alone: separate, 'in a shared store': shared };
  return { events, logs: Object.entries(logs) };
};

const logsOf = (bench: Bench): ReturnType<typeof fillStore> =>
  bench.shared('logs in the store', () => fillStore(bench));

/** Compares following a log with the adapter with the bare subscription. */
export const eventStoreFollowing: Goal = {
  name: 'G11',
  run: async (bench) => {
    const { client } = await storeOf(bench);
    const { events, logs } = await logsOf(bench);
    for (const [where, stored] of logs)
      await compare(
        bench,
        {
          what: `following from the beginning, ${where}`,
          against: 'the bare subscription',
          must: 0.9,
          aim: 1,
        },
        { base: following(events, withClient(client, stored)), target: following(events, withAdapter(stored)) },
      );
    return [];
  },
};

/** Compares projecting a log with the bare subscription without any work. */
export const eventStoreProjecting: Goal = {
  name: 'G12',
  run: async (bench) => {
    const { client } = await storeOf(bench);
    const { events, logs } = await logsOf(bench);
    const database = await bench.database();
    for (const [where, stored] of logs) {
      await compare(
        bench,
        {
          what: `projecting from the beginning, ${where}`,
          against: 'the bare subscription without work',
          must: 0.5,
          aim: 0.7,
        },
        { base: following(events, withClient(client, stored)), target: await projecting(stored, database) },
        bench.sizes.quick ? bench.sizes.schedule : { rounds: 8, ms: 2_000 },
      );
      await truncateReadModels(database.pool);
    }
    return [];
  },
};
