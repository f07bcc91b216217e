import { setImmediate } from 'node:timers/promises';
import { Unavailable } from '../../src/errors.js';
import {
  type Appended,
  type AppendedEvent,
  type Batch,
  BEGINNING,
  EventLog,
  type EventKey,
  type ExpectedRevision,
  type FoundEvent,
  MAX_PAGE_BYTES,
  type NewEvent,
  type RecordedEvent,
  type StreamEvent,
  WrongExpectedRevision,
} from '../../src/event-log/event-log.js';
import { writeJson } from '../../src/events/stored-json.js';
import { type Clock, monotonic } from '../../src/flow/time.js';

/**
 * The outcome of an append: it succeeds, it is stored but the response is lost, it never arrives, or the store rejects
 * it with an error.
 */
export type Fate = 'answered' | 'unanswered' | 'lost' | Error;

export interface InMemoryOptions {
  /** Decides the outcome of an append of these events. */
  readonly fate?: (events: readonly NewEvent[]) => Fate;
  /** Turns of the event loop before a call is executed, and again before it returns. */
  readonly turns?: () => number;
  /** The size of a subscription's next batch. */
  readonly batchSize?: () => number;
  readonly clock?: Clock;
}

const IDLE_MS = 20;

/**
 * An in-memory event log that passes the contract of the adapters. Its options make single calls fail or delay them.
 */
export class InMemoryEventLog extends EventLog {
  readonly positionUnit = 'events';

  /** @param events the stored events in order of position; logs with the same list share one store */
  constructor(
    readonly events: RecordedEvent[] = [],
    private readonly options: InMemoryOptions = {},
  ) {
    super();
  }

  protected override store(stream: string, expected: ExpectedRevision, events: readonly NewEvent[]): Promise<Appended> {
    return this.write(events, () => {
      const duplicate = events.every((event) => this.stored(event) !== undefined);
      const actual = this.revisionOf(stream) ?? 'no-stream';
      if (!duplicate && expected !== 'any' && expected !== actual)
        throw new WrongExpectedRevision(stream, expected, actual);
      for (const event of events) this.addEvent(stream, event);
      const { revision, position } = this.stored(events.at(-1)!)!;
      return { revision, position, duplicate };
    });
  }

  protected override storeAll(entries: readonly StreamEvent[]): Promise<AppendedEvent[]> {
    return this.write(
      entries.map(({ event }) => event),
      () => entries.map(({ stream, event }) => this.addEvent(stream, event)),
    );
  }

  readStream(stream: string, from: bigint, limit: number): Promise<RecordedEvent[]> {
    return this.read(() =>
      this.events.filter((event) => event.stream === stream && event.revision >= from).slice(0, limit),
    );
  }

  find(keys: readonly EventKey[]): Promise<(FoundEvent | undefined)[]> {
    return this.read(() =>
      keys.map(({ stream, id }) => this.events.find((event) => event.id === id && event.stream === stream)),
    );
  }

  protected override eventsAt(positions: readonly bigint[]): Promise<RecordedEvent[]> {
    return this.read(() => this.events.filter(({ position }) => positions.includes(position)));
  }

  readAll(after: bigint, limit: number): Promise<RecordedEvent[]> {
    return this.read(() => this.pageAfter(after, limit));
  }

  async subscribe(after: bigint, onBatch: (batch: Batch) => Promise<void>, signal: AbortSignal): Promise<void> {
    const { batchSize = () => 1_000, clock = monotonic } = this.options;
    for (let position = after; !signal.aborted;) {
      const events = this.pageAfter(position, Math.max(1, batchSize()));
      position = events.at(-1)?.position ?? position;
      const isLast = position === (this.events.at(-1)?.position ?? position);
      await onBatch({ events, position, asOf: isLast ? Date.now() : undefined });
      if (isLast) await clock.sleep(IDLE_MS, signal);
    }
  }

  head(): Promise<bigint> {
    return this.read(() => this.events.at(-1)?.position ?? BEGINNING);
  }

  id(): Promise<string> {
    return Promise.resolve('in-memory-log');
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  private pageAfter(after: bigint, limit: number): RecordedEvent[] {
    const page: RecordedEvent[] = [];
    let bytes = 0;
    for (const event of this.events) {
      if (page.length >= limit || bytes >= MAX_PAGE_BYTES) break;
      if (event.position <= after) continue;
      page.push(event);
      bytes += Buffer.byteLength(writeJson([event.data, event.metadata]) ?? '');
    }
    return page;
  }

  private async read<T>(carryOut: () => T): Promise<T> {
    await this.wait();
    const answer = carryOut();
    await this.wait();
    return answer;
  }

  private async write<T>(events: readonly NewEvent[], carryOut: () => T): Promise<T> {
    const fate = this.options.fate?.(events) ?? 'answered';
    if (fate === 'lost') {
      await this.wait();
      throw new Unavailable('The append never arrived');
    }
    const answer = await this.read(() => {
      if (fate instanceof Error) throw fate;
      return carryOut();
    });
    if (fate === 'unanswered') throw new Unavailable('The response was lost');
    return answer;
  }

  private async wait(): Promise<void> {
    for (let turn = this.options.turns?.() ?? 1; turn > 0; turn -= 1) await setImmediate();
  }

  private stored({ id }: { readonly id: string }): RecordedEvent | undefined {
    return this.events.findLast((event) => event.id === id);
  }

  private revisionOf(stream: string): bigint | undefined {
    return this.events.findLast((event) => event.stream === stream)?.revision;
  }

  private addEvent(stream: string, event: NewEvent): AppendedEvent {
    const stored = this.stored(event);
    if (stored !== undefined) return { position: stored.position, duplicate: true };
    const position = (this.events.at(-1)?.position ?? BEGINNING) + 1n;
    const { id, type, data, metadata } = JSON.parse(JSON.stringify(event)) as NewEvent;
    const revision = (this.revisionOf(stream) ?? -1n) + 1n;
    this.events.push({ position, stream, revision, id, type, data, metadata, recordedAt: Date.now() });
    return { position, duplicate: false };
  }
}
