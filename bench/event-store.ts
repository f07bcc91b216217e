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
import { type Bench, type Goal, measure, rates } from './goal.js';
import { following, projecting, type Stored, withAdapter, withClient } from './follow-store.js';
import { truncateReadModels } from './log-work.js';
import { inParallel, type Slice } from './paired.js';
import { post } from './post.js';
import { startApi } from './services.js';
import { startAppender } from './start-appender.js';
import { retryTimeouts } from './retry-timeouts.js';

/** Returns the URL of the configured server, or starts the EventStoreDB double in a separate process. */
const openStore = async (bench: Bench): Promise<string> => {
  const configuredUrl = process.env['TEST_EVENTSTORE_URL'];
  if (configuredUrl) return configuredUrl;
  const server = fork(fileURLToPath(new URL('../test/support/eventstore-double/main.js', import.meta.url)));
  const [{ url }] = (await once(server, 'message')) as [{ url: string }];
  bench.onEnd(async () => server.disconnect());
  return url;
};

const INGESTED_AT_ONCE = 1_000;

/** A slice of batches sent to `POST /v2/events`, without a projector. Each event has a different threat and stream. */
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
    await retryTimeouts(() => post(agent, url, key, body));
  };
  // Two senders, so that the API parses one batch while it stores the other.
  const slice = inParallel(2, one);
  return async (ms) => (await slice(ms)) * INGESTED_AT_ONCE;
};

/** Compares the adapter with the bare client on the same server: appending, following and projecting. */
export const eventStore: Goal = {
  name: 'ES',
  run: async (bench) => {
    const url = await openStore(bench);
    // The server may contain events of earlier runs, so each run uses a prefix of its own.
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
    const line = (what: string, against: string, must: number, paired: Awaited<ReturnType<typeof measure>>): void => {
      bench.keep({
        what,
        against,
        measured: paired.ratio,
        must,
        note: rates(paired, 'per second'),
      });
    };

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
    for (const inFlight of [1, 16, 256]) {
      const paired = await measure(bench, `ES ${inFlight} in flight`, {
        base: bareClient.appendSlice(inFlight),
        target: adapter.appendSlice(inFlight),
      });
      line(`EventStoreDB: append, ${inFlight} in flight`, 'the bare client', 0.9, paired);
    }
    line(
      'EventStoreDB: append, batches of 200 events for 200 streams',
      'the bare client',
      0.9,
      await measure(bench, 'ES batches', {
        base: bareClient.appendSlice(1, 200),
        target: adapter.appendSlice(1, 200),
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
          base: bareClient.appendSlice(256),
          target: await ingesting(bench, withPrefix(url, `bench.${run}.`), log),
        },
        // A batch takes half a second, and a slice should contain many batches.
        bench.sizes.quick ? bench.sizes.schedule : { rounds: 8, ms: 4_000 },
      ),
    );
    const tls = process.env['TEST_EVENTSTORE_TLS_URL'];
    if (tls) {
      const secure = await startAppender(bench, 'adapter', tls, `bench.${run}.`);
      line(
        'EventStoreDB: append over TLS with a user, 256 in flight',
        'the adapter without TLS',
        0.8,
        await measure(bench, 'ES TLS', {
          base: adapter.appendSlice(256),
          target: secure.appendSlice(256),
        }),
      );
    }

    const events = bench.sizes.quick ? 2_000 : 60_000;
    const foreign = bench.sizes.quick ? 3_000 : 1_000_000;
    const entries = storedEvents(upstreamEvents(events));
    const fill = async (target: EventLog, from: number, to: number): Promise<void> => {
      for (let at = from; at < to; at += 1_000)
        await retryTimeouts(() => target.appendAll(entries.slice(at, Math.min(at + 1_000, to))));
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
        'the bare subscription without work',
        0.5,
        await measure(
          bench,
          `ES projecting, ${where}`,
          { base: bare, target: await projecting(stored, database) },
          bench.sizes.quick ? bench.sizes.schedule : { rounds: 8, ms: 2_000 },
        ),
      );
      await truncateReadModels(database.pool);
    };
    const startLog = async (prefix: string): Promise<Stored> => {
      const newLog = await openLog(prefix);
      return { log: newLog, prefix, origin: await newLog.head() };
    };
    bench.say(`Fills the event store with ${events.toLocaleString('en-US')} events`);
    const separate = await startLog(`full.${run}.`);
    await fill(separate.log, 0, events);
    await follow('alone', separate);
    bench.say(
      `Fills the event store again, with ${foreign.toLocaleString('en-US')} events of another application in between`,
    );
    const shared = await startLog(`shared.${run}.`);
    await bareClient.fill(foreign / 3);
    await fill(shared.log, 0, events / 2);
    await bareClient.fill(foreign / 3);
    await fill(shared.log, events / 2, events);
    await bareClient.fill(foreign / 3);
    await follow('in a shared store', shared);
    return [];
  },
};
