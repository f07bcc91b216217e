import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { Invalid, Unavailable } from '../../errors.js';
import type { Appended, AppendedEvent, ExpectedRevision, NewEvent } from '../event-log.js';
import type { EventStoreConnection } from './connection.js';
import { appendFailure, DeniedByStore } from './failures.js';
import type { OurStreams } from './streams.js';
import { requireWritable } from './require-writable.js';

/** An append is retried while it can still be answered within two seconds. */
const TIMEOUT_MS = 1_800;
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
