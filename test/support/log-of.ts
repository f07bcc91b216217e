import { type Batch, EventLog, type RecordedEvent } from '../../src/event-log/event-log.js';
import { ArrayLog } from './array-log.js';
import { eventStores } from './event-store.js';

/** Whether a spec is run again with its log in an event store: what depends on the log needs few of many random cases. */
export const isRerun = process.env['TEST_LOG'] === 'EventStoreDB';

/** A log whose batches a spec cuts to the sizes it wants. */
class CutLog extends EventLog {
  readonly positionUnit;

  constructor(
    private readonly log: EventLog,
    private readonly cut: () => number,
  ) {
    super();
    this.positionUnit = log.positionUnit;
  }

  subscribe(after: bigint, onBatch: (batch: Batch) => Promise<void>, signal: AbortSignal): Promise<void> {
    const inPieces = async ({ events, position, asOf }: Batch): Promise<void> => {
      for (let from = 0; from < events.length && !signal.aborted;) {
        const piece = events.slice(from, from + Math.max(1, this.cut()));
        from += piece.length;
        await onBatch({ events: piece, position: from < events.length ? piece.at(-1)!.position : position, asOf });
      }
    };
    return this.log.subscribe(after, inPieces, signal);
  }

  append: EventLog['append'] = (...given) => this.log.append(...given);
  appendAll: EventLog['appendAll'] = (...given) => this.log.appendAll(...given);
  readStream: EventLog['readStream'] = (...given) => this.log.readStream(...given);
  find: EventLog['find'] = (...given) => this.log.find(...given);
  eventAt: EventLog['eventAt'] = (...given) => this.log.eventAt(...given);
  readAll: EventLog['readAll'] = (...given) => this.log.readAll(...given);
  head: EventLog['head'] = () => this.log.head();
  id: EventLog['id'] = () => this.log.id();
  close: EventLog['close'] = () => this.log.close();
}

/**
 * Holds events in a log: a list, or an event store where the spec is run with its log there (`TEST_LOG=EventStoreDB`),
 * which keeps those that occur twice once.
 */
export class Logs {
  private readonly ends: (() => Promise<void>)[] = [];

  async holding(events: readonly RecordedEvent[], cut: () => number = () => 1_000): Promise<EventLog> {
    if (!isRerun) return new ArrayLog(events, cut);
    const store = await eventStores.at(-1)!.open();
    this.ends.push(() => store.release());
    const { createEventStoreDbLog } = await import('../../src/event-log/eventstoredb/log.js');
    const log = await createEventStoreDbLog(store.url);
    this.ends.push(() => log.close());
    await log.appendAll(
      events.map(({ stream, id, type, data, metadata }) => ({
        stream,
        event: { id, type, data: data as object, metadata: metadata as object },
      })),
    );
    return new CutLog(log, cut);
  }

  async end(): Promise<void> {
    for (const end of this.ends.splice(0).reverse()) await end();
  }
}
