import { appendLogOpened } from '../new-event.js';
import { OPERATIONS_STREAM } from '../../events/streams.js';
import {
  type Appended,
  type AppendedEvent,
  type Batch,
  EventLog,
  type EventPlace,
  type ExpectedRevision,
  type FoundEvent,
  type NewEvent,
  type RecordedEvent,
} from '../event-log.js';
import { EventStoreConnection } from './connection.js';
import { HeadTracker } from './head-tracker.js';
import { CatchUpSubscription } from './catch-up-subscription.js';
import { openInTime } from './opening.js';
import { OurStreams, readStreamPrefix } from './streams.js';
import { Writer } from './writer.js';

/** Events of a stream that are searched for an id, the last ones. */
const SEARCHED = 100;
/** Streams that are searched at once, for one caller. */
const SEARCHED_AT_ONCE = 8;

/** The time by the clock of the database that has the read models. */
export interface DatabaseTime {
  /** ms. @throws if the database is unavailable */
  read(): Promise<number>;
  close(): Promise<void>;
}

/** For a log that nobody follows. */
const NO_TIME: DatabaseTime = {
  read: () => Promise.reject(new Error('This log was opened without a clock')),
  close: async () => {},
};

/** The log in EventStoreDB. A position is the commit position in its transaction file. */
export class EventStoreDbLog extends EventLog {
  readonly positionUnit = 'bytes';
  private readonly headTracker: HeadTracker;
  private readonly writer: Writer;
  private logId: string | undefined;
  private isClosed = false;

  constructor(
    private readonly connection: EventStoreConnection,
    private readonly streams: OurStreams,
    private readonly clock: DatabaseTime,
  ) {
    super();
    this.headTracker = new HeadTracker(connection);
    this.writer = new Writer(connection, streams, this.headTracker);
  }

  append(stream: string, expected: ExpectedRevision, events: readonly NewEvent[]): Promise<Appended> {
    return this.writer.append(stream, expected, events);
  }

  appendAll(entries: readonly { readonly stream: string; readonly event: NewEvent }[]): Promise<AppendedEvent[]> {
    return this.writer.appendAll(entries);
  }

  async readStream(stream: string, from: bigint, limit: number): Promise<RecordedEvent[]> {
    const events = await this.connection.readStream(this.streams.nameInStore(stream), from, limit);
    return events.map((event) => ({ ...event, stream }));
  }

  async find(places: readonly EventPlace[]): Promise<(FoundEvent | undefined)[]> {
    const found = new Map<string, FoundEvent>();
    const wanted = new Set(places.map(({ id }) => id));
    const streams = new Set(places.map(({ stream }) => stream)).values();
    const searchNext = async (): Promise<void> => {
      for (const stream of streams)
        for (const event of await this.readEnd(stream)) if (wanted.has(event.id)) found.set(event.id, event);
    };
    await Promise.all(Array.from({ length: SEARCHED_AT_ONCE }, searchNext));
    return places.map(({ id }) => found.get(id));
  }

  async eventAt(position: bigint): Promise<RecordedEvent | undefined> {
    const event = await this.connection.readAt(position);
    return event && this.streams.pick(event);
  }

  async readAll(after: bigint, limit: number): Promise<RecordedEvent[]> {
    const events: RecordedEvent[] = [];
    for (let from = after; ;) {
      const asked = limit - events.length;
      const page = await this.connection.readAll(from, this.streams.prefixes, asked);
      for (const event of page) {
        const ours = this.streams.pick(event);
        if (ours !== undefined) events.push(ours);
      }
      // The server also returns streams of other applications whose names begin like ours.
      if (events.length === limit || page.length < asked) return events;
      from = page.at(-1)!.position;
    }
  }

  async subscribe(after: bigint, onBatch: (batch: Batch) => Promise<void>, signal: AbortSignal): Promise<void> {
    const { connection, streams, headTracker, clock } = this;
    return new CatchUpSubscription(connection, streams, headTracker, onBatch, signal, after, () => clock.read()).run();
  }

  head(): Promise<bigint> {
    return this.headTracker.read();
  }

  async id(): Promise<string> {
    this.logId ??= await this.readId();
    if (this.logId === undefined)
      throw new Error(
        `The event store holds no LogOpened in its stream "${OPERATIONS_STREAM}"; it is not a log of this service`,
      );
    return this.logId;
  }

  async close(): Promise<void> {
    if (this.isClosed) return;
    this.isClosed = true;
    await this.connection.close();
    await this.clock.close();
  }

  /** Writes the log's first event if it is missing. */
  async begin(): Promise<void> {
    // A user may lack permission to read `$all`: better to fail now than with a projector that never advances.
    await this.headTracker.read();
    this.logId = await this.readId();
    if (this.logId !== undefined) return;
    await appendLogOpened(this);
    await this.id();
  }

  private readEnd(stream: string): Promise<RecordedEvent[]> {
    return this.connection.readStream(this.streams.nameInStore(stream), 'end', SEARCHED, 'backwards');
  }

  private async readId(): Promise<string | undefined> {
    const [first] = await this.readStream(OPERATIONS_STREAM, 0n, 1);
    return first?.type === 'LogOpened' ? (first.data as { logId?: string }).logId : undefined;
  }
}

/**
 * Opens the log in an EventStoreDB and writes its first event if it is missing.
 * @param url a connection string, scheme `esdb`; the option `streamPrefix` keeps several logs apart in one store
 * @param clock by which a follower is told up to when it has everything
 * @throws ConfigError if the string is unusable, or the store denies access
 * @throws Unavailable if no store answers within 20 s
 */
export const createEventStoreDbLog = async (url: string, clock = NO_TIME): Promise<EventLog> => {
  const { url: storeUrl, prefix } = readStreamPrefix(url);
  const log = new EventStoreDbLog(EventStoreConnection.to(storeUrl), new OurStreams(prefix), clock);
  try {
    await openInTime(() => log.begin());
  } catch (error) {
    await log.close();
    throw error;
  }
  return log;
};
