import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { Invalid, Unavailable } from '../../errors.js';
import type { NewEvent, Appended, AppendedEvent, ExpectedRevision } from '../event-log.js';
import type { EventStoreConnection } from './connection.js';
import { appendFailure, DeniedByStore } from './failures.js';
import type { OurStreams } from './streams.js';
import { limit } from '../../limits.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** The server's limit for one append. The sizes below are upper estimates of what the server counts. */
const MAX_BYTES = 1_048_576;
const EVENT_OVERHEAD_BYTES = 256;
/** The maximum length in JSON of one UTF-16 unit (`\u0000`), and of a number. */
const MAX_UNIT_BYTES = 6;
const MAX_NUMBER_BYTES = 25;
const MAX_DEPTH = 8;

/** Returns an upper bound of the size of the JSON, in bytes, without encoding it; Infinity if the value is too deep. */
const jsonBytesAtMost = (value: unknown, depth = 0): number => {
  if (typeof value === 'string') return MAX_UNIT_BYTES * value.length + 2;
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return MAX_NUMBER_BYTES;
  if (typeof value !== 'object' || depth > MAX_DEPTH) return Number.POSITIVE_INFINITY;
  let bytes = 2;
  for (const name in value)
    bytes += MAX_UNIT_BYTES * name.length + 4 + jsonBytesAtMost((value as Record<string, unknown>)[name], depth + 1);
  return bytes;
};

const jsonBytes = (value: object): number => Buffer.byteLength(JSON.stringify(value));

const bytesOf = (events: readonly NewEvent[], sizeOf: (value: object) => number): number => {
  let bytes = 0;
  for (const { type, data, metadata } of events)
    bytes += sizeOf(data) + sizeOf(metadata) + EVENT_OVERHEAD_BYTES + 2 * type.length;
  return bytes;
};

/**
 * Checks events before they are passed to the client: an event that the client cannot encode would fail all appends.
 * @throws Invalid, or TypeError for data that is not JSON
 */
const requireWritable = (stream: string, events: readonly NewEvent[]): void => {
  if (events.length === 0) throw new RangeError(`Nothing to append to ${stream}`);
  for (const { id, type } of events) {
    if (!UUID.test(id)) throw new Invalid(`Event id "${id}" for ${stream} is not a lower-case UUID`);
    if (type === '') throw new Invalid(`Event ${id} for ${stream} has no type`);
  }
  if (bytesOf(events, jsonBytesAtMost) <= MAX_BYTES) return;
  const bytes = bytesOf(events, jsonBytes);
  if (bytes > MAX_BYTES)
    throw new Invalid(
      `The events for ${stream} are ${bytes} bytes together; the event store takes ${MAX_BYTES} at once`,
    );
};

/** An append is retried while it can still be answered within two seconds. */
const TIMEOUT_MS = limit('append to EventStoreDB', 1_800, 'ms', 'request', '503');
const RETRY_MS = 60;
/** Maximum number of events whose positions are remembered. */
const MAX_STORED = 10_000;

/**
 * Appends events. The store recognises a repeated append by its expected revision, or by its event ids for a while, and
 * then returns the first result again without reporting the repetition. An append is reported as a duplicate if it was
 * stored through this object recently and the store returns the same position again.
 */
export class Writer {
  /** The position of the last event of recent appends, by its id. */
  private readonly stored = new LRUCache<string, bigint>({ max: MAX_STORED });
  /**
   * Pending appends by the id of their first event. A repeated append waits for the pending append, because the store
   * would not answer the repetition.
   */
  private readonly pending = new Map<string, Promise<Appended>>();

  constructor(
    private readonly connection: EventStoreConnection,
    private readonly streams: OurStreams,
  ) {}

  async append(stream: string, expected: ExpectedRevision, events: readonly NewEvent[]): Promise<Appended> {
    this.requireWritable(stream, events);
    return this.send(stream, expected, events);
  }

  async appendAll(entries: readonly { readonly stream: string; readonly event: NewEvent }[]): Promise<AppendedEvent[]> {
    for (const { stream, event } of entries) this.requireWritable(stream, [event]);
    const appended: AppendedEvent[] = [];
    const indexesByStream = new Map<string, number[]>();
    for (const [index, { stream }] of entries.entries()) {
      const indexes = indexesByStream.get(stream);
      if (indexes === undefined) indexesByStream.set(stream, [index]);
      else indexes.push(index);
    }
    let hasFailed = false;
    const waiting = indexesByStream.values();
    const sendNext = async (): Promise<void> => {
      for (const indexes of waiting)
        // The events of a stream are sent one after another, so that the stream keeps their order.
        for (const index of indexes) {
          if (hasFailed) return;
          try {
            const { stream, event } = entries[index]!;
            appended[index] = await this.send(stream, 'any', [event]);
          } catch (error) {
            hasFailed = true;
            throw error;
          }
        }
    };
    // There are as many senders as appends that can be in flight: further senders would only wait, and each waiting
    // sender becomes long-lived garbage.
    const senders = Math.min(indexesByStream.size, this.connection.appends.max);
    const outcomes = await Promise.allSettled(Array.from({ length: senders }, sendNext));
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    return appended;
  }

  private send(stream: string, expected: ExpectedRevision, events: readonly NewEvent[]): Promise<Appended> {
    const { id } = events[0]!;
    const pendingAppend = this.pending.get(id);
    // The caller of the other append handles its error.
    if (pendingAppend !== undefined)
      return pendingAppend.catch(() => {}).then(() => this.send(stream, expected, events));
    const sending = this.sendUntilAnswered(stream, expected, events);
    this.pending.set(id, sending);
    return sending;
  }

  /**
   * Waits until fewer than 256 appends are in flight, and rejects if the store becomes unavailable in the meantime.
   * Retries are harmless because the event ids are the same. This is one function because each `await` costs every
   * event a microsecond.
   */
  private async sendUntilAnswered(
    stream: string,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
  ): Promise<Appended> {
    const { appends } = this.connection;
    let isAcquired = false;
    try {
      const acquired = appends.acquire();
      if (acquired !== undefined) await acquired;
      isAcquired = true;
      const name = this.streams.nameInStore(stream);
      const giveUpAt = performance.now() + TIMEOUT_MS;
      for (;;) {
        try {
          const timeoutMs = giveUpAt - performance.now();
          const { nextExpectedRevision, position } = await this.connection.append(name, expected, events, timeoutMs);
          if (position === undefined)
            return { revision: nextExpectedRevision, position: await this.readEnd(name), duplicate: true };
          const { commit } = position;
          const { id } = events.at(-1)!;
          const duplicate = this.stored.get(id) === commit;
          if (!duplicate) this.stored.set(id, commit);
          return { revision: nextExpectedRevision, position: commit, duplicate };
        } catch (error) {
          const failure = appendFailure(stream, expected, error);
          const pauseMs = RETRY_MS * (0.5 + Math.random());
          const mayRetry = failure instanceof Unavailable && !(failure.cause instanceof DeniedByStore);
          if (!mayRetry || performance.now() + pauseMs + RETRY_MS > giveUpAt) throw failure;
          await sleep(pauseMs);
        }
      }
    } catch (error) {
      if (isAcquired && error instanceof Unavailable) appends.rejectQueued(error);
      throw error;
    } finally {
      if (isAcquired) appends.release();
      this.pending.delete(events[0]!.id);
    }
  }

  /**
   * Reads the position of the last event of a stream. The store recognises an event that is before the truncation of its
   * stream, but reports no position for it.
   */
  private async readEnd(name: string): Promise<bigint> {
    const [last] = await this.connection.readStream(name, 'end', 1, 'backwards');
    return last!.position;
  }

  private requireWritable(stream: string, events: readonly NewEvent[]): void {
    if (!this.streams.includes(stream)) throw new Invalid(`Stream "${stream}" does not belong to this service`);
    requireWritable(stream, events);
  }
}
