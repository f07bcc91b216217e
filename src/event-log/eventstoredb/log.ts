import { OrganizationIsErased, Unavailable } from '../../errors.js';
import { finishesWithin, pause } from '../../flow/time.js';
import { singleFlight } from '../../flow/shared-work.js';
import { ErasedOrganizations } from '../erased-organizations.js';
import { appendLogOpened } from '../new-event.js';
import { ERASED_CATEGORY, OPERATIONS_STREAM, organizationOf } from '../../events/streams.js';
import {
  type Appended,
  type AppendedEvent,
  type Batch,
  BEGINNING,
  EventLog,
  type EventKey,
  type ExpectedRevision,
  type FoundEvent,
  type NewEvent,
  type PlacedEvent,
  type RecordedEvent,
  type StreamEvent,
} from '../event-log.js';
import { EventStoreConnection } from './connection.js';
import { CatchUpSubscription } from './catch-up-subscription.js';
import { organizationsOf, readCopy, withoutErased, StreamRewriter } from './rewriting/stream-rewriter.js';
import { EventStoreEraser, EventStoreRedactor } from './rewriting/eraser.js';
import { StreamDeleted } from './failures.js';
import { parseStoreAddress } from './connection-string.js';
import { openWithRetries, OurStreams, readStreamPrefix } from './streams.js';
import { Writer } from './writer.js';

/** How many of the last events of a stream are searched for an id. */
const SEARCHED_EVENTS = 100;
/** How old the knowledge of erasures may be before the stream of operations is read again, in ms. */
const MAX_AGE_OF_ERASURES_MS = 500;
/** How long an append waits for that read, in ms. */
const MAX_WAIT_FOR_ERASURES_MS = 500;
const ERASED_STREAM = new RegExp(`^${ERASED_CATEGORY}-([0-9]{1,19})$`);
/** The time within which a majority of the nodes stores an event, after the leader has given it a time, with a margin. */
const SETTLE_MS = 250;
/** How far the store's clock may be behind that of the database, without events that appear in a state that was answered. */
const MAX_SKEW_MS = 2_000;
/** Maximum streams that one call searches concurrently. */
const MAX_CONCURRENT_SEARCHES = 8;

/** The clock of the database that has the read models. */
export interface DatabaseTime {
  /** Returns the time in ms. @throws if the database is unavailable */
  read(): Promise<number>;
  close(): Promise<void>;
}

/** The clock of a log without subscriptions. */
const NO_TIME: DatabaseTime = {
  read: () => Promise.reject(new Error('This log was opened without a clock')),
  close: async () => {},
};

/** The log in EventStoreDB. A position is the commit position in its transaction file. */
export class EventStoreDbLog extends EventLog {
  readonly positionUnit = 'bytes';
  private readonly writer: Writer;
  /** The furthest position that this process has seen in the store. */
  private furthest = BEGINNING;
  private logId: string | undefined;
  private isClosed = false;
  private readonly erased = new ErasedOrganizations();
  private erasedReadAt = Number.NEGATIVE_INFINITY;
  override readonly eraser: EventStoreEraser;
  override readonly redactor: EventStoreRedactor;

  constructor(
    private readonly connection: EventStoreConnection,
    private readonly streams: OurStreams,
    private readonly clock: DatabaseTime,
    nodes: readonly string[] = [],
  ) {
    super();
    this.writer = new Writer(connection, streams);
    const rewriter = new StreamRewriter(connection, streams, this.writer);
    this.eraser = new EventStoreEraser(connection, streams, rewriter, nodes);
    this.redactor = new EventStoreRedactor(rewriter, nodes);
  }

  protected override async store(
    stream: string,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
  ): Promise<Appended> {
    await this.requireNotErased(events.map((event) => ({ stream, event })));
    const appended = await this.orThrowErased(this.writer.append(stream, expected, events), [stream]);
    this.observe(appended.position);
    return appended;
  }

  protected override async storeAll(entries: readonly StreamEvent[]): Promise<AppendedEvent[]> {
    await this.requireNotErased(entries);
    const appended = await this.orThrowErased(
      this.writer.appendAll(entries),
      entries.map(({ stream }) => stream),
    );
    for (const { position } of appended) this.observe(position);
    return appended;
  }

  async readStream(stream: string, from: bigint, limit: number): Promise<RecordedEvent[]> {
    const erasedAt = ERASED_STREAM.exec(stream)?.[1];
    if (erasedAt !== undefined) return this.readErased(stream, BigInt(erasedAt));
    const events = await this.connection.readStream(this.streams.nameInStore(stream), from, limit);
    const organization = organizationOf(stream);
    if (organization !== undefined && this.erased.has(organization)) return [];
    return events.map((event) => this.read({ ...event, stream }));
  }

  async find(keys: readonly EventKey[]): Promise<(FoundEvent | undefined)[]> {
    const found = new Map<string, FoundEvent>();
    const wantedIds = new Set(keys.map(({ id }) => id));
    const streams = new Set(keys.map(({ stream }) => stream)).values();
    const searchNext = async (): Promise<void> => {
      for (const stream of streams)
        for (const event of await this.readEnd(stream)) if (wantedIds.has(event.id)) found.set(event.id, event);
    };
    await Promise.all(Array.from({ length: MAX_CONCURRENT_SEARCHES }, searchNext));
    return keys.map(({ id }) => found.get(id));
  }

  protected override async eventsAt(positions: readonly bigint[]): Promise<PlacedEvent[]> {
    const events = await Promise.all(positions.map((position) => this.connection.readAt(position)));
    return events.flatMap((event) => (event && this.streams.pick(event)) ?? []);
  }

  async readAll(after: bigint, limit: number): Promise<RecordedEvent[]> {
    await this.knowErased();
    for (let from = after; ;) {
      const page = await this.connection.readAll(from, this.streams.prefixes, limit);
      // The server also returns streams of other applications whose names have the same prefixes.
      const events = page.flatMap((event) => this.streams.pick(event) ?? []);
      if (events.length > 0 || page.length === 0) return this.readEvents(events);
      from = page.at(-1)!.position;
    }
  }

  async subscribe(after: bigint, onBatch: (batch: Batch) => Promise<void>, signal: AbortSignal): Promise<void> {
    return new CatchUpSubscription(
      this.connection,
      this.streams,
      () => this.head(),
      async (batch) => {
        await this.knowErased();
        await onBatch({ ...batch, events: this.readEvents(batch.events) });
      },
      signal,
      after,
      () => this.clock.read(),
    ).run();
  }

  /** The leader gives an event its time before a majority of the nodes has stored the event. */
  override settled(ageMs: number): Promise<void> {
    return pause(Math.max(SETTLE_MS, MAX_SKEW_MS - ageMs));
  }

  /**
   * Reads the head. A node that was the leader may lag, so an earlier head is rejected while the store still has the
   * furthest event that this process has seen. If the store no longer has that event, its log was replaced or restored
   * from an older copy, and the earlier head is returned.
   * @throws Unavailable also if the store reports an earlier head although it still has that event
   */
  async head(): Promise<bigint> {
    const known = this.furthest;
    const head = (await this.connection.readEnd()) ?? BEGINNING;
    if (head < known) {
      if ((await this.connection.readAt(known)) !== undefined)
        throw new Unavailable(
          'EventStoreDB reported that its log ends before an event that is still stored; try again',
        );
      // A position that was observed in the meantime is newer than this response.
      if (this.furthest === known) this.furthest = head;
    }
    this.observe(head);
    return head;
  }

  override async mayHaveErased(position: bigint): Promise<boolean> {
    await this.knowErased();
    return this.erased.mayHaveErased(position);
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
    // Fails now if the user may not read `$all`. Without that permission, the projector would never advance.
    await this.head();
    await this.readErasures();
    this.logId = await this.readId();
    if (this.logId !== undefined) return;
    await appendLogOpened(this);
    await this.id();
  }

  private observe(position: bigint): void {
    if (position > this.furthest) this.furthest = position;
  }

  private read(event: RecordedEvent): RecordedEvent {
    return withoutErased(readCopy(event), this.erased);
  }

  /** An event that starts an erasure counts for all later events of a page. */
  private readEvents(events: readonly RecordedEvent[]): RecordedEvent[] {
    return events.map((event) => {
      if (event.stream === OPERATIONS_STREAM) this.erased.observe(event);
      return this.read(event);
    });
  }

  private async readErased(stream: string, position: bigint): Promise<RecordedEvent[]> {
    const event = await this.connection.readAt(position);
    const own = event && this.streams.pick(event);
    const read = own && this.read(own);
    return read?.stream === stream ? [read] : [];
  }

  private readonly readErasures = singleFlight(async (): Promise<void> => {
    const readAt = performance.now();
    await this.erased.read({
      readStream: async (stream, from, limit) =>
        (await this.connection.readStream(this.streams.nameInStore(stream), from, limit)).map((event) => ({
          ...event,
          stream,
        })),
    });
    this.erasedReadAt = readAt;
  });

  /**
   * Reads which organizations were erased, unless that was read recently. If the store does not answer, the known
   * erasures count: an event that is stored meanwhile is never delivered, and `organizations erase --verify` names it.
   */
  private knowErased(): Promise<unknown> {
    if (performance.now() - this.erasedReadAt < MAX_AGE_OF_ERASURES_MS) return Promise.resolve();
    return finishesWithin(
      this.readErasures().catch(() => {}),
      MAX_WAIT_FOR_ERASURES_MS,
    );
  }

  /** @throws OrganizationIsErased if an organization of the events was erased */
  private async requireNotErased(entries: readonly StreamEvent[]): Promise<void> {
    await this.knowErased();
    if (this.erased.isEmpty) return;
    for (const { stream, event } of entries)
      for (const organization of organizationsOf(stream, event))
        if (typeof organization === 'string' && this.erased.has(organization)) throw new OrganizationIsErased();
  }

  /** A stream that an erasure deleted refuses appends, even if this process has not heard of the erasure. */
  private async orThrowErased<Result>(appended: Promise<Result>, streams: readonly string[]): Promise<Result> {
    try {
      return await appended;
    } catch (error) {
      if (!(error instanceof StreamDeleted)) throw error;
      await this.readErasures();
      const isErased = streams.some((stream) => this.erased.has(organizationOf(stream) ?? ''));
      throw isErased ? new OrganizationIsErased() : error;
    }
  }

  private readEnd(stream: string): Promise<RecordedEvent[]> {
    return this.connection.readStream(this.streams.nameInStore(stream), 'end', SEARCHED_EVENTS, 'backwards');
  }

  private async readId(): Promise<string | undefined> {
    const [first] = await this.readStream(OPERATIONS_STREAM, 0n, 1);
    return first?.type === 'LogOpened' ? (first.data as { logId?: string }).logId : undefined;
  }
}

/**
 * Opens the log in an EventStoreDB and writes its first event if it is missing.
 * @param url a connection string, scheme `esdb`; the option `streamPrefix` separates several logs in one store
 * @param clock the clock that `asOf` of subscriptions is based on
 * @throws ConfigError if the string is unusable, or the store denies access
 * @throws Unavailable if no store responds within 20 s
 */
export const createEventStoreDbLog = async (url: string, clock = NO_TIME): Promise<EventLog> => {
  const { url: storeUrl, prefix } = readStreamPrefix(url);
  const { hosts } = parseStoreAddress(storeUrl);
  const log = new EventStoreDbLog(EventStoreConnection.to(storeUrl), new OurStreams(prefix), clock, hosts);
  try {
    await openWithRetries(hosts.join(', '), () => log.begin());
  } catch (error) {
    await log.close();
    throw error;
  }
  return log;
};
