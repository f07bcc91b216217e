import { once } from 'node:events';
import { type Batch, BEGINNING, EventLog, type RecordedEvent } from '../../src/event-log/event-log.js';

/**
 * A log that is a list: it holds whatever a spec puts there, twice if need be, and hands it out in batches of the
 * spec's choosing. Only for what reads; appending is tested on the real ones.
 */
export class ArrayLog extends EventLog {
  readonly positionUnit = 'events';

  constructor(
    private readonly events: readonly RecordedEvent[],
    /** The size of the next batch. */
    private readonly cut: () => number = () => 1_000,
    private readonly logId = 'array-log',
  ) {
    super();
  }

  append(): never {
    throw new Error('An ArrayLog is only read');
  }

  appendAll(): never {
    throw new Error('An ArrayLog is only read');
  }

  readStream(stream: string, from: bigint, limit: number): Promise<RecordedEvent[]> {
    const all = this.events.filter((event) => event.stream === stream && event.revision >= from);
    return Promise.resolve(all.slice(0, limit));
  }

  find(): never {
    throw new Error('Nobody looks for events in an ArrayLog');
  }

  eventAt(position: bigint): Promise<RecordedEvent | undefined> {
    return Promise.resolve(this.events.find((event) => event.position === position));
  }

  readAll(after: bigint, limit: number): Promise<RecordedEvent[]> {
    return Promise.resolve(this.events.filter(({ position }) => position > after).slice(0, limit));
  }

  async subscribe(after: bigint, onBatch: (batch: Batch) => Promise<void>, signal: AbortSignal): Promise<void> {
    let left = this.events.filter(({ position }) => position > after);
    while (left.length > 0 && !signal.aborted) {
      const events = left.slice(0, Math.max(1, this.cut()));
      left = left.slice(events.length);
      await onBatch({ events, position: events.at(-1)!.position, asOf: Date.now() });
    }
    if (!signal.aborted) await once(signal, 'abort');
  }

  head(): Promise<bigint> {
    return Promise.resolve(this.events.at(-1)?.position ?? BEGINNING);
  }

  id(): Promise<string> {
    return Promise.resolve(this.logId);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
