import { thisClock } from './this-clock.js';
import type { EventLog, RecordedEvent } from '../../src/event-log/event-log.js';
import { InMemoryEventLog } from './in-memory-event-log.js';
import { eventStores } from './event-store.js';

/** Whether the specs run with their log in an event store (`jest.config.mjs`). They then have fewer random cases. */
export const usesEventStore = 'IS_LOG_IN_EVENTSTORE' in globalThis;

/** Splits the batches of a log into batches of the sizes that `cut` returns. */
const cutBatches = (log: EventLog, cut: () => number): EventLog => {
  const subscribe = log.subscribe.bind(log);
  log.subscribe = (after, onBatch, signal) =>
    subscribe(
      after,
      async ({ events, position, asOf }) => {
        for (let from = 0; from < events.length && !signal.aborted;) {
          const piece = events.slice(from, from + Math.max(1, cut()));
          from += piece.length;
          await onBatch({ events: piece, position: from < events.length ? piece.at(-1)!.position : position, asOf });
        }
      },
      signal,
    );
  return log;
};

/**
 * Creates logs with given events: in memory, or in an event store if `usesEventStore`. An event store keeps events that occur
 * twice only once.
 */
export class Logs {
  private readonly ends: (() => Promise<void>)[] = [];

  async create(events: readonly RecordedEvent[], cut: () => number = () => 1_000): Promise<EventLog> {
    if (!usesEventStore) return new InMemoryEventLog([...events], { batchSize: cut });
    const store = await eventStores.at(-1)!.open();
    this.ends.push(() => store.release());
    const { createEventStoreDbLog } = await import('../../src/event-log/eventstoredb/log.js');
    const log = await createEventStoreDbLog(store.url, thisClock);
    this.ends.push(() => log.close());
    await log.appendAll(
      events.map(({ stream, id, type, data, metadata }) => ({
        stream,
        event: { id, type, data: data as object, metadata: metadata as object },
      })),
    );
    return cutBatches(log, cut);
  }

  async end(): Promise<void> {
    for (const end of this.ends.splice(0).reverse()) await end();
  }
}
