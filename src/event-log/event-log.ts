/**
 * The event log, the only source of truth. The read models can be dropped and rebuilt from it. Adapters: `postgres`,
 * `eventstoredb`. Both pass `test/event-log/event-log.contract.ts`.
 */

/** An event to be stored. Storing one id twice is harmless. */
export interface NewEvent {
  /** UUID, lower-case. */
  readonly id: string;
  readonly type: string;
  /** Plain JSON: no bigint, nothing that depends on undefined. */
  readonly data: object;
  readonly metadata: object;
}

export interface RecordedEvent {
  /** Place in the whole log; grows in commit order. Opaque otherwise: the store may leave gaps. */
  readonly position: bigint;
  readonly stream: string;
  /** Place in the stream, from 0, without gaps. */
  readonly revision: bigint;
  readonly id: string;
  readonly type: string;
  /** The JSON as stored; direct appends may be anything. */
  readonly data: unknown;
  readonly metadata: unknown;
  /** The store's clock when it took the event, in ms. */
  readonly recordedAt: number;
}

/** Where an event is to be looked for. */
export interface EventPlace {
  readonly stream: string;
  readonly id: string;
}

/** What a log says of an event that it has. */
export type FoundEvent = Pick<RecordedEvent, 'position' | 'metadata' | 'recordedAt'>;

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

/** What became of one event of `appendAll`: its position, and whether the store had it already. */
export type AppendedEvent = Pick<Appended, 'position' | 'duplicate'>;

export interface Batch {
  /** In order of position; empty if only time has passed. */
  readonly events: readonly RecordedEvent[];
  /**
   * Everything up to here has been delivered, including this batch: the position of the last event, or further if a
   * store has other applications' events after it; initially the position asked for.
   */
  readonly position: bigint;
  /**
   * Every event acknowledged before this instant (ms, by the database's clock) has been delivered, including this batch;
   * undefined if no such instant is known.
   */
  readonly asOf: number | undefined;
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
   * @throws WrongExpectedRevision if the stream is at another revision and not all events are stored already
   */
  abstract append(stream: string, expected: ExpectedRevision, events: readonly NewEvent[]): Promise<Appended>;

  /**
   * Appends events to many streams, each whatever the revision of its stream. Durable once answered, but not atomic.
   * @returns one answer per event, in order
   */
  abstract appendAll(
    entries: readonly { readonly stream: string; readonly event: NewEvent }[],
  ): Promise<AppendedEvent[]>;

  /** A stream's events from this revision on, at most `limit`; none if the stream does not exist. */
  abstract readStream(stream: string, from: bigint, limit: number): Promise<RecordedEvent[]>;

  /**
   * Looks for events by their ids. In PostgreSQL that is one statement, whatever their number. EventStoreDB has no index
   * of ids: there only the last 100 events of each stream are searched.
   * @returns one answer per place, in order; undefined for an event that was not found
   */
  abstract find(places: readonly EventPlace[]): Promise<(FoundEvent | undefined)[]>;

  /** The event at exactly this position; undefined if this service has none there. */
  abstract eventAt(position: bigint): Promise<RecordedEvent | undefined>;

  /** The whole log after this position, at most `limit` events; fewer means the end was reached. */
  abstract readAll(after: bigint, limit: number): Promise<RecordedEvent[]>;

  /**
   * Catch-up subscription after this position until `signal` aborts: one batch at a time, each awaited, without gaps or
   * repetitions within one call. When idle, an empty batch arrives at least twice a second. Lost connections are
   * re-established internally. The promise resolves on abort and rejects if `onBatch` throws; on EventStoreDB also if
   * the log has ended before the last position read for 15 s (the store was replaced, or restored from an older copy).
   */
  abstract subscribe(after: bigint, onBatch: (batch: Batch) => Promise<void>, signal: AbortSignal): Promise<void>;

  /** The same log for followers and monitoring: a flood of requests does not delay them. */
  readonly forFollowers: EventLog = this;

  /**
   * The head: the position of this service's last event, or further if a store has other applications' events after it;
   * `BEGINNING` if empty. Everything acknowledged before the call is at or before it.
   */
  abstract head(): Promise<bigint>;

  /** The log's own id, from its first event. */
  abstract id(): Promise<string>;

  /** Ends every connection; what was pending has been answered. */
  abstract close(): Promise<void>;
}
