/**
 * The log: the one record of what happened. Everything else can be thrown away and counted anew from it.
 * Adapters: `postgres.ts`, `eventstoredb.ts`. Both pass `test/event-log/event-log.contract.ts`.
 */

/** An event to be stored. Storing one id twice is harmless. */
export interface NewEvent {
  /** UUID, lower-case. */
  readonly id: string;
  readonly type: string;
  /** Plain JSON: no undefined needed to be kept, no bigint. */
  readonly data: object;
  readonly metadata: object;
}

export interface RecordedEvent {
  /** Where in the whole log; grows in the order of commits. Opaque but for its order: the store may leave gaps. */
  readonly position: bigint;
  readonly stream: string;
  /** Where in the stream, from 0, without gaps. */
  readonly revision: bigint;
  readonly id: string;
  readonly type: string;
  /** The JSON as it was stored. Who appended directly may have stored anything. */
  readonly data: unknown;
  readonly metadata: unknown;
  /** The store's clock when it took the event, in ms. */
  readonly recordedAt: number;
}

/** What a stream must look like for an append to happen. */
export type ExpectedRevision =
  /** The stream's last revision is this one. */
  | bigint
  /** The stream does not exist. */
  | 'no-stream'
  /** Anything. */
  | 'any';

export interface Appended {
  /** Revision of the last of the events. */
  readonly revision: bigint;
  /** Position of the last of the events. */
  readonly position: bigint;
  /**
   * Whether the store had these very events already; nothing was stored then. On EventStoreDB a repetition of what
   * another process stored within the last 20 ms may pass for new: it is stored once all the same.
   */
  readonly duplicate: boolean;
}

export interface Batch {
  /** In order of position; empty where only time has passed. */
  readonly events: readonly RecordedEvent[];
  /**
   * Every event of the log up to here has been handed over, this batch included: that of the last one, or further on
   * where a store holds other people's events after it; where none was yet, the one that was asked for.
   */
  readonly position: bigint;
  /** Every event whose append was answered before this instant (ms) has been handed over, this batch included. */
  readonly asOf: number;
}

/** The stream is not where the append expected it. */
export class WrongExpectedRevision extends Error {
  constructor(
    readonly stream: string,
    readonly expected: ExpectedRevision,
    readonly actual: bigint | 'no-stream' | undefined,
  ) {
    super(`Stream ${stream} is at ${actual ?? 'another revision'}, not at ${expected}`);
  }
}

/** Before the first event of every log. */
export const BEGINNING = -1n;

/**
 * Every call answers or fails within seconds. A failure to reach the store is `Unavailable` (src/errors): the
 * outcome is unknown, and the same call again, with the same ids, is safe.
 */
export abstract class EventLog {
  /**
   * What a difference of positions counts, so that nobody reads bytes as events.
   * `events`: positions are consecutive numbers; `bytes`: they are offsets in the store's files.
   */
  abstract readonly positionUnit: 'events' | 'bytes';

  /**
   * Appends all of the events to one stream, or none. Durable once answered. The same ids again, all of them, give the
   * first answer again, marked as duplicate, whatever the expectation.
   * @throws WrongExpectedRevision where the stream is elsewhere and the events are not all stored already
   */
  abstract append(stream: string, expected: ExpectedRevision, events: readonly NewEvent[]): Promise<Appended>;

  /**
   * Appends events to many streams, each whatever the revision of its stream. Durable once answered, but not atomic.
   * @returns one answer an event, in order: true where it is a duplicate, as told by `Appended`
   */
  abstract appendAll(entries: readonly { readonly stream: string; readonly event: NewEvent }[]): Promise<boolean[]>;

  /** A stream's events from this revision on, at most `limit`; none where the stream does not exist. */
  abstract readStream(stream: string, from: bigint, limit: number): Promise<RecordedEvent[]>;

  /** The whole log after this position, at most `limit` events; fewer means the end was reached. */
  abstract readAll(after: bigint, limit: number): Promise<RecordedEvent[]>;

  /**
   * Follows the log after this position until `signal` aborts: one batch at a time, each awaited, nothing left out,
   * nothing twice within one call. While nothing happens an empty batch comes at least twice a second. Lost connections
   * are built anew inside. The promise settles on abort (resolves) and when `onBatch` throws (rejects with that);
   * on EventStoreDB also where the log has ended before what was read of it for 15 s (rejects: the store was replaced
   * or restored from an older copy).
   */
  abstract subscribe(after: bigint, onBatch: (batch: Batch) => Promise<void>, signal: AbortSignal): Promise<void>;

  /** The same log for those who follow it or watch over it: no flood of requests delays what they ask. */
  readonly forFollowers: EventLog = this;

  /**
   * Where the log ends: at the last of our events, or further on where a store holds other people's events after it;
   * `BEGINNING` where there is none. Whatever was answered before the call is at or before it.
   */
  abstract head(): Promise<bigint>;

  /** The log's own id, from its first event. */
  abstract id(): Promise<string>;

  /** Ends every connection; what was pending has been answered. */
  abstract close(): Promise<void>;
}
