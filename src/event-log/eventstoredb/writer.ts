import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { Invalid, Unavailable } from '../../errors.js';
import {
  type Appended,
  type AppendedEvent,
  type ExpectedRevision,
  type NewEvent,
  type RecordedEvent,
  WrongExpectedRevision,
} from '../event-log.js';
import { finishesWithin } from '../../flow/deadline.js';
import type { EventStoreConnection } from './connection.js';
import type { HeadTracker } from './head-tracker.js';
import { appendFailure, RefusedByStore, timedOut } from './failures.js';
import type { OurStreams } from './streams.js';
import { requireWritable } from './require-writable.js';

/** An append is retried while it can still be answered within two seconds. */
const LIMIT_MS = 1_800;
const RETRY_MS = 60;
/** Minimum time of an attempt, however long reading the head took: a shorter one could not succeed. */
const MIN_ATTEMPT_MS = 150;
/** How far back a stream is searched for events that the store no longer recognises, in events. */
const LOOK_BACK = 4_096;
const LOOK_BACK_PAGE = 1_000;
const REMEMBERED = 10_000;

/** A shared head read may have started late. */
const inTime = async (reading: Promise<unknown>, ms: number): Promise<void> => {
  if (!(await finishesWithin(reading, ms))) throw timedOut(LIMIT_MS);
};

/** Each event once, at its first place. */
const distinct = (events: readonly NewEvent[]): readonly NewEvent[] => {
  if (events.length === 1) return events;
  const known = new Set<string>();
  return events.filter(({ id }) => !known.has(id) && known.add(id));
};

/**
 * Appends events and reports which ones the store already had.
 *
 * The store recognises a duplicate by its id only for a while, or by its expected revision; it answers a duplicate with
 * the first answer, unmarked. Here it is recognised by its position: at or before the head as known when the append was
 * sent. So a duplicate of what another process wrote within the last 20 ms is stored once, but reported as new.
 */
export class Writer {
  /** Ids of events recently sent with an expected revision; with another one the store would store them again. */
  private readonly sent = new LRUCache<string, true>({ max: REMEMBERED });
  /** Pending appends by the id of their first event: a duplicate waits, because the store would not answer it. */
  private readonly underWay = new Map<string, Promise<Appended>>();

  constructor(
    private readonly connection: EventStoreConnection,
    private readonly streams: OurStreams,
    private readonly head: HeadTracker,
  ) {}

  async append(stream: string, expected: ExpectedRevision, events: readonly NewEvent[]): Promise<Appended> {
    const once = distinct(events);
    this.requireWritable(stream, once);
    const isRepeated = once.every(({ id }) => this.sent.has(id));
    const stored = isRepeated ? await this.find(stream, once) : undefined;
    if (stored !== undefined) return stored;
    for (const { id } of once) this.sent.set(id, true);
    try {
      return await this.send(stream, expected, once);
    } catch (error) {
      if (!(error instanceof WrongExpectedRevision)) throw error;
      const found = await this.find(stream, once);
      if (found !== undefined) return found;
      if (expected !== 'any') throw error;
      return this.finish(stream, once);
    }
  }

  async appendAll(entries: readonly { readonly stream: string; readonly event: NewEvent }[]): Promise<AppendedEvent[]> {
    for (const { stream, event } of entries) this.requireWritable(stream, [event]);
    if (entries.length === 1) {
      const { stream, event } = entries[0]!;
      return [await this.send(stream, 'any', [event])];
    }
    const appended = new Map<string, AppendedEvent>();
    const known = new Set<string>();
    const repeated = new Set<number>();
    const streams = new Map<string, number[]>();
    for (const [index, { stream, event }] of entries.entries()) {
      if (known.has(event.id)) {
        repeated.add(index);
        continue;
      }
      known.add(event.id);
      const ofStream = streams.get(stream);
      if (ofStream === undefined) streams.set(stream, [index]);
      else ofStream.push(index);
    }
    let isLost = false;
    const left = streams.entries();
    const sendNext = async (): Promise<void> => {
      for (const [stream, indexes] of left)
        // In turn, so that a stream keeps their order.
        for (const index of indexes) {
          if (isLost) return;
          try {
            const { event } = entries[index]!;
            appended.set(event.id, await this.send(stream, 'any', [event]));
          } catch (error) {
            isLost = true;
            throw error;
          }
        }
    };
    // No more senders than can be pending: each waiting one is long-lived garbage.
    const senders = Math.min(streams.size, this.connection.appends.max);
    const outcomes = await Promise.allSettled(Array.from({ length: senders }, sendNext));
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    return entries.map(({ event }, index) => {
      const { position, duplicate } = appended.get(event.id)!;
      return { position, duplicate: duplicate || repeated.has(index) };
    });
  }

  private send(stream: string, expected: ExpectedRevision, events: readonly NewEvent[]): Promise<Appended> {
    const { id } = events[0]!;
    const other = this.underWay.get(id);
    // Its own caller gets its error.
    if (other !== undefined) return other.catch(() => {}).then(() => this.send(stream, expected, events));
    const sending = this.sendUntilAnswered(stream, expected, events);
    this.underWay.set(id, sending);
    return sending;
  }

  /**
   * Waits for its turn; rejects if the store becomes unavailable in the meantime. Retrying is harmless because the ids are the
   * same. One function for all of it: each `await` costs every event a microsecond.
   */
  private async sendUntilAnswered(
    stream: string,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
  ): Promise<Appended> {
    const { appends } = this.connection;
    let isIn = false;
    try {
      const turn = appends.acquire();
      if (turn !== undefined) await turn;
      isIn = true;
      const name = this.streams.nameInStore(stream);
      const startedAt = performance.now();
      // The head before the first attempt.
      let head: bigint | undefined;
      for (;;) {
        try {
          if (head === undefined) {
            const refreshed = this.head.refresh();
            if (refreshed !== undefined) await inTime(refreshed, startedAt + LIMIT_MS - performance.now());
            head = this.head.position;
          }
          const limitMs = Math.max(MIN_ATTEMPT_MS, startedAt + LIMIT_MS - performance.now());
          const { nextExpectedRevision, position } = await this.connection.append(name, expected, events, limitMs);
          const { commit } = position!;
          this.head.observe(commit, performance.now());
          // An event stored by an attempt whose answer was lost is not a duplicate: it is after the earlier head.
          return { revision: nextExpectedRevision, position: commit, duplicate: commit <= head };
        } catch (error) {
          const failure = appendFailure(stream, expected, error);
          const pause = RETRY_MS * (0.5 + Math.random());
          const mayRetry = failure instanceof Unavailable && !(failure.cause instanceof RefusedByStore);
          if (!mayRetry || performance.now() + pause + RETRY_MS > startedAt + LIMIT_MS) throw failure;
          await sleep(pause);
        }
      }
    } catch (error) {
      if (isIn && error instanceof Unavailable) appends.rejectQueued(error);
      throw error;
    } finally {
      if (isIn) appends.release();
      this.underWay.delete(events[0]!.id);
    }
  }

  /** With "any", the store refuses a batch if it knows the first event but not all: the rest is stored one by one. */
  private async finish(stream: string, events: readonly NewEvent[]): Promise<Appended> {
    let last: Appended | undefined;
    for (const event of events) {
      const appended = await this.send(stream, 'any', [event]);
      if (last === undefined || !appended.duplicate) last = appended;
    }
    return { ...last!, duplicate: false };
  }

  /** The answer these events got when they were stored, if all of them are in the stream. */
  private async find(stream: string, events: readonly NewEvent[]): Promise<Appended | undefined> {
    const name = this.streams.nameInStore(stream);
    const missing = new Set(events.map(({ id }) => id));
    let last: RecordedEvent | undefined;
    for (let from: bigint | 'end' = 'end', read = 0; read < LOOK_BACK;) {
      const page: RecordedEvent[] = await this.connection.readStream(name, from, LOOK_BACK_PAGE, 'backwards');
      for (const event of page) {
        if (!missing.delete(event.id)) continue;
        if (last === undefined) last = event;
        if (missing.size === 0) return { revision: last.revision, position: last.position, duplicate: true };
      }
      const oldest = page.at(-1);
      if (oldest === undefined || oldest.revision === 0n) return undefined;
      read += page.length;
      from = oldest.revision - 1n;
    }
    return undefined;
  }

  private requireWritable(stream: string, events: readonly NewEvent[]): void {
    if (!this.streams.includes(stream)) throw new Invalid(`Stream "${stream}" does not belong to this service`);
    requireWritable(stream, events);
  }
}
