import { coalesce } from '../flow/shared-work.js';

/** An organization to erase. */
export interface OrganizationToErase {
  readonly organization: string;
  /** Whether a key belongs to the organization. The event that names both may have been erased already. */
  readonly isKey: (keyId: string) => boolean;
}

/** The events that one step of an erasure has found. */
export interface ErasedPage {
  /** Number of events by type. */
  readonly events: Readonly<Record<string, number>>;
  /** The positions of the first and the last of these events; undefined if there are none. */
  readonly first: bigint | undefined;
  readonly last: bigint | undefined;
  /** Everything up to this position has been erased. */
  readonly position: bigint;
}

/** Erases the events of an organization in a store that can neither change nor delete single events. */
export interface LogEraser {
  /** The nodes whose files still have the events until an operator scavenges them. */
  readonly nodes: readonly string[];

  /** Returns the keys and webhook endpoints of an organization. */
  names(organization: string): Promise<string[]>;

  /** Yields what the store still has of an organization, including deleted events that have not been scavenged. */
  find(target: OrganizationToErase, onProgress: (position: bigint) => void): Promise<Readonly<Record<string, number>>>;

  /** Erases all events after a position. A repeated call has the same result. */
  erase(target: OrganizationToErase, after: bigint, onPage: (page: ErasedPage) => Promise<void>): Promise<void>;
}

/**
 * The event log, the only source of truth. The read models can be dropped and rebuilt from it. Adapters: `postgres`,
 * `eventstoredb`. Both adapters pass `test/event-log/event-log.contract.ts`.
 */

/** An event to store. An event that is stored twice under the same id counts once. */
export interface NewEvent {
  /** UUID, lower-case. */
  readonly id: string;
  readonly type: string;
  /** Plain JSON, without bigint. Properties that are undefined are not stored. */
  readonly data: object;
  readonly metadata: object;
}

/** An event to store, and its stream. */
export interface StreamEvent {
  readonly stream: string;
  readonly event: NewEvent;
}

export interface RecordedEvent {
  /** Position in the whole log. Positions increase in commit order, possibly with gaps. */
  readonly position: bigint;
  readonly stream: string;
  /** Position in the stream, from 0, without gaps. */
  readonly revision: bigint;
  readonly id: string;
  readonly type: string;
  /** The stored JSON. Programs that append to the log directly may have stored any JSON. */
  readonly data: unknown;
  readonly metadata: unknown;
  /** When the store recorded the event, in ms by the store's clock. */
  readonly recordedAt: number;
  /**
   * Where the event was first stored, if this is a copy that an erasure or a redaction appended. The copy has the
   * same id. Read models show the position and the time of the original.
   */
  readonly copyOf?: { readonly position: bigint; readonly recordedAt: number };
}

/** Identifies an event to look up. */
export interface EventKey {
  readonly stream: string;
  readonly id: string;
}

/** The event at a position, without its content. */
export type PlacedEvent = Omit<RecordedEvent, 'data' | 'metadata'>;

/**
 * A place in the log: a position, and the event that was there. A failover or a restore may lose the end of the log, and
 * the log then gives the lost positions to other events. `EventLog.has` says whether a place is lost. The
 * projector (`checkpoints.ts`), the feed (`read-feed.ts`), TAXII (`read-objects.ts`) and deliveries
 * (`endpoint-delivery.ts`) call it, and decide what follows.
 */
export interface Place {
  readonly position: bigint;
  /** The id of the event, or at least its first 8 digits. */
  readonly event: string;
  /**
   * When the event was recorded (ms). An event that was lost and sent again has the same id, and may have the same
   * position although the events before it differ. Undefined: not compared.
   */
  readonly recordedAt?: number | undefined;
}

/** What `find` returns of a stored event. */
export type FoundEvent = Pick<RecordedEvent, 'position' | 'metadata' | 'recordedAt'>;

/** The condition on the stream under which an append is carried out. */
export type ExpectedRevision =
  /** The last revision of the stream is this one. */
  | bigint
  /** The stream does not exist. */
  | 'no-stream'
  /** No condition. */
  | 'any';

export interface Appended {
  /** Revision of the last of the events. */
  readonly revision: bigint;
  /** Position of the last of the events. */
  readonly position: bigint;
  /**
   * True if the log had all of these events already, so that nothing was stored. In PostgreSQL, the value is always
   * correct. In EventStoreDB, the value may be false for a repeated append, and events whose ids the store has
   * forgotten are stored again.
   */
  readonly duplicate: boolean;
}

/** The result for one event of `appendAll`. */
export type AppendedEvent = Pick<Appended, 'position' | 'duplicate'>;

export interface Batch {
  /** In order of position; empty if only `position` or `asOf` has advanced. */
  readonly events: readonly RecordedEvent[];
  /**
   * All events up to this position have been delivered, including this batch. The position is that of the last event,
   * or a later position if events of other applications follow the last event. Before the first event, the position is
   * the one after which the subscription began.
   */
  readonly position: bigint;
  /**
   * Every event that was acknowledged before this instant (ms, by the database's clock) has been delivered, including
   * this batch. Undefined if no such instant is known.
   */
  readonly asOf: number | undefined;
}

/** The last revision of the stream is not the one that the append expected. */
export class WrongExpectedRevision extends Error {
  constructor(
    readonly stream: string,
    readonly expected: ExpectedRevision,
    readonly actual: bigint | 'no-stream' | undefined,
  ) {
    super(`Stream ${stream} is at ${actual ?? 'another revision'}, not at ${expected}`);
  }
}

/** Runs `append`, for example to measure or trace it. */
type AppendObserver = <Result>(append: () => Promise<Result>, events: () => readonly NewEvent[]) => Promise<Result>;

/**
 * The size at which a page of events ends, in bytes of stored JSON; in EventStoreDB, in bytes of the store's files. A
 * page exceeds this size by at most two events.
 */
export const MAX_PAGE_BYTES = 8 * 1_024 * 1_024;

/** How many events of a stream before a redaction are searched for the event of a redacted record. */
const SEARCHED_BEFORE_REDACTION = 1_000;

/** The position before the first event of every log. */
export const BEGINNING = -1n;

/** Rewrites contents of events in a store that can neither change nor delete single events. */
export interface LogRedactor {
  /** The nodes whose files still have the contents until an operator scavenges them. */
  readonly nodes: readonly string[];

  /** Yields pages of what the store has, including events before the truncation of their streams. */
  pages(): AsyncIterable<readonly RecordedEvent[]>;

  /** Returns those of these events that are not before the truncation of their streams. */
  present(events: readonly RecordedEvent[]): Promise<readonly RecordedEvent[]>;

  /**
   * Replaces streams, so that they have the same events with other contents. A repeated call has the same result.
   * @param clean returns the new events of a stream, in the same order
   */
  rewrite(
    streams: ReadonlySet<string>,
    clean: (events: readonly RecordedEvent[]) => readonly RecordedEvent[],
  ): Promise<void>;
}

/**
 * Every call ends within seconds. If the store cannot be reached, calls throw `Unavailable` (src/errors.ts): the
 * outcome is unknown then, and it is safe to repeat the call with the same ids.
 */
export abstract class EventLog {
  /**
   * The unit of a difference of positions. `events`: positions are consecutive numbers; `bytes`: positions are offsets
   * in the store's files.
   */
  abstract readonly positionUnit: 'events' | 'bytes';

  /**
   * Appends events to one stream: either all events are stored, or no event is stored. The events are durable once the
   * promise resolves. A repeated call with the same events and the same expected revision stores nothing and returns
   * the first result again; PostgreSQL ignores the expected revision if all of the events are stored already.
   * @throws WrongExpectedRevision if the stream is at another revision and not all events are stored already; on
   *   EventStoreDB also with `any`, if the store recognises the first event but not all events
   */
  append(stream: string, expected: ExpectedRevision, events: readonly NewEvent[]): Promise<Appended> {
    return this.observed(
      () => this.store(stream, expected, events),
      () => events,
    );
  }

  /**
   * Appends events to many streams, at any revision. The events are durable once the promise resolves. The call is not
   * atomic: if it fails, some of the events may be stored.
   * @returns one result per event, in order
   */
  appendAll(entries: readonly StreamEvent[]): Promise<AppendedEvent[]> {
    return this.observed(
      () => this.storeAll(entries),
      () => entries.map(({ event }) => event),
    );
  }

  protected abstract store(stream: string, expected: ExpectedRevision, events: readonly NewEvent[]): Promise<Appended>;

  protected abstract storeAll(entries: readonly StreamEvent[]): Promise<AppendedEvent[]>;

  private observed: AppendObserver = (append) => append();

  /** Calls `observer` for each later append. */
  observeAppends(observer: AppendObserver): void {
    const inner = this.observed;
    this.observed = (append, events) => observer(() => inner(append, events), events);
  }

  /** Reads at most `limit` events of a stream from a revision on. Returns no events if the stream does not exist. */
  abstract readStream(stream: string, from: bigint, limit: number): Promise<RecordedEvent[]>;

  /**
   * Looks up events by their ids. EventStoreDB has no index of ids: there, only the last 100 events of each stream are
   * searched.
   * @returns one result per key, in order; undefined for an event that was not found
   */
  abstract find(keys: readonly EventKey[]): Promise<(FoundEvent | undefined)[]>;

  /** Reads the events at exactly these positions. Positions at which this service has no event are left out. */
  protected abstract eventsAt(positions: readonly bigint[]): Promise<PlacedEvent[]>;

  /**
   * Returns whether the log still has the event of a place. If it does, it also has every earlier event, because a log
   * loses only its end. Concurrent calls share one read.
   */
  async has(place: Place): Promise<boolean> {
    this.places.push(place);
    const event = (await this.readPlaces()).get(place.position);
    if (event === undefined) return this.mayHaveErased(place.position);
    if (event.id.startsWith(place.event)) return (place.recordedAt ?? event.recordedAt) === event.recordedAt;
    return event.type === 'ContentRedacted' && this.hasRedacted(event, place);
  }

  /**
   * Returns whether a place is that of a redaction and names an event of the same stream before the redaction. An earlier version
   * gave a redacted record the position of the redaction and the event of its state, in ids of the feed and in the progress
   * of webhooks.
   */
  private async hasRedacted({ stream, revision }: PlacedEvent, place: Place): Promise<boolean> {
    const first = revision - BigInt(SEARCHED_BEFORE_REDACTION);
    // If the stream was rewritten, the page begins after the redaction, with copies that have the ids of the originals.
    const page = await this.readStream(stream, first < 0n ? 0n : first, SEARCHED_BEFORE_REDACTION);
    return page.some(
      ({ id, position, copyOf }) => id.startsWith(place.event) && (copyOf?.position ?? position) < place.position,
    );
  }

  /**
   * Returns whether an event at this position may be missing because an organization was erased, or contents were
   * redacted, and the store was scavenged. Always false in PostgreSQL, where a rewritten event keeps its position.
   */
  mayHaveErased(_position: bigint): Promise<boolean> {
    return Promise.resolve(false);
  }

  /** Erases events in the store. Undefined in PostgreSQL, where the operator's call rewrites them in the database. */
  readonly eraser: LogEraser | undefined = undefined;

  /** Rewrites contents in the store. Undefined in PostgreSQL, where the operator's call rewrites them in the database. */
  readonly redactor: LogRedactor | undefined = undefined;

  private places: Place[] = [];

  private readonly readPlaces = coalesce(async () => {
    const positions = new Set(this.places.map(({ position }) => position));
    this.places = [];
    return new Map((await this.eventsAt([...positions])).map((event) => [event.position, event]));
  });

  /**
   * Reads the next events of the whole log after a position: at least one event, at most `limit` events, and no further
   * events once they have `MAX_PAGE_BYTES`. Returns no events only if the log ends at the position.
   */
  abstract readAll(after: bigint, limit: number): Promise<RecordedEvent[]>;

  /**
   * Subscribes to all events after a position until `signal` aborts. Batches arrive one at a time, in order, without
   * gaps or repetitions; the next batch waits for the promise of `onBatch`. If there are no events, an empty batch
   * arrives at least twice a second. Lost connections are re-established. The promise resolves on abort and rejects if
   * `onBatch` throws. On EventStoreDB, the promise also rejects if the end of the log has been before the last
   * delivered position for 15 s, which means that the store was replaced or restored from an older copy.
   */
  abstract subscribe(after: bigint, onBatch: (batch: Batch) => Promise<void>, signal: AbortSignal): Promise<void>;

  /** The same log for subscriptions and monitoring, on connections that requests do not use. */
  readonly forSubscriptions: EventLog = this;

  /**
   * Reads the head: the position of this service's last event, or a later position if events of other applications
   * follow that event; `BEGINNING` if the log is empty. Every event acknowledged before the call is at or before the head.
   */
  abstract head(): Promise<bigint>;

  /**
   * Resolves when no more events can be stored with a time up to an instant, unless the store's clock is set back. In
   * memory, an append takes no time.
   * @param _ageMs how long ago the instant was at the call, by the database's clock
   */
  settled(_ageMs: number): Promise<void> {
    return Promise.resolve();
  }

  /** Returns the id of the log, which its first event holds. */
  abstract id(): Promise<string>;

  /** Waits for pending calls and closes every connection. */
  abstract close(): Promise<void>;
}
