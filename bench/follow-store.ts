import { type EventStoreDBClient, streamNameFilter } from '@eventstore/db-client';
import type { EventLog } from '../src/event-log/event-log.js';
import { STREAM_PREFIXES } from '../src/events/streams.js';
import type { Database } from './database.js';
import { truncateReadModels, project } from './log-work.js';
import type { Slice } from './paired.js';

/** A log in the store. All its events are after `origin`, so a reader can skip the earlier contents of the store. */
export interface Stored {
  readonly log: EventLog;
  readonly prefix: string;
  readonly origin: bigint;
}

/** Follows a log from its origin until `isEnough` returns true. `isEnough` gets the number of events of each batch. */
type Follow = (isEnough: (count: number) => boolean) => Promise<void>;

/** A slice that follows the whole log, repeatedly until its time has passed. */
export const following =
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

export const withClient =
  (client: EventStoreDBClient, { prefix, origin }: Stored): Follow =>
  async (isEnough) => {
    const subscription = client.subscribeToAll(
      {
        fromPosition: { commit: origin, prepare: origin },
        filter: streamNameFilter({
          prefixes: STREAM_PREFIXES.map((name) => prefix + name),
          // The options of the adapter, so that the client gets the same number of checkpoints.
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

export const withAdapter =
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

/** A slice that projects the log from its beginning, repeatedly until its time has passed. */
export const projecting = async ({ log, origin }: Stored, database: Database): Promise<Slice> => {
  const positions: bigint[] = [];
  for (let page; page === undefined || page.length > 0; positions.push(...page.map(({ position }) => position)))
    page = await log.readAll(positions.at(-1) ?? origin, 1_000);
  const filled = { database, log, origin, events: positions.length };
  return async (ms) => {
    let done = 0;
    let tookMs = 0;
    while (tookMs < ms) {
      await truncateReadModels(database.pool);
      const from = performance.now();
      const reached = await project(
        filled,
        database.pool,
        (at) => tookMs + performance.now() - from >= ms || at >= positions.at(-1)!,
      );
      tookMs += performance.now() - from;
      // The position may be beyond the last event of this log, among the events of other applications.
      done += positions.findLastIndex((position) => position <= reached) + 1;
    }
    return (done * 1_000) / tookMs;
  };
};
