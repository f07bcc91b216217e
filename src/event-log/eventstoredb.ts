import { randomUUID } from 'node:crypto';
import { ConfigError } from '../config.js';
import { Invalid, Unavailable } from '../errors.js';
import { toJson } from '../events/event.js';
import { OPERATIONS_STREAM } from '../events/streams.js';
import {
  type Appended,
  type Batch,
  BEGINNING,
  EventLog,
  type ExpectedRevision,
  type NewEvent,
  type RecordedEvent,
  WrongExpectedRevision,
} from './event-log.js';
import { EventStoreConnection, RefusedByStore } from './eventstoredb-connection.js';
import { Follower } from './eventstoredb-follower.js';
import { OurStreams, readStreamPrefix } from './eventstoredb-streams.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** What the server takes in one append, which it counts generously. */
const MOST_APPEND_BYTES = 1_048_576;
const EVENT_OVERHEAD_BYTES = 256;
/** An append is tried again while its answer can still be given within two seconds. */
const APPEND_LIMIT_MS = 1_800;
const RETRY_MS = 60;
/** What is known of the log's end counts as current for so long. */
const END_IS_FRESH_MS = 20;
/** How far back a stream is searched for events that the store no longer recognises by itself. */
const LOOK_BACK = 4_096;
const REMEMBERED = 10_000;
const READ_PAGE = 1_000;
const LEAST_PAGE = 64;
const START_LIMIT_MS = 20_000;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Each event once, where it came first. */
const distinct = (events: readonly NewEvent[]): readonly NewEvent[] => {
  const known = new Set<string>();
  return events.filter(({ id }) => !known.has(id) && known.add(id));
};

/** The latest of many: at least `REMEMBERED` and at most twice as many. Whole generations are let go at once. */
class Latest<T> {
  private young = new Set<T>();
  private old = new Set<T>();

  add(value: T): void {
    this.young.add(value);
    if (this.young.size < REMEMBERED) return;
    this.old = this.young;
    this.young = new Set();
  }

  has(value: T): boolean {
    return this.young.has(value) || this.old.has(value);
  }
}

/**
 * Looks at events before the client sees them: one it cannot write would break the appends of everyone else.
 * @throws Invalid, or TypeError for what is no JSON
 */
const checkEvents = (stream: string, events: readonly NewEvent[]): void => {
  if (events.length === 0) throw new RangeError(`Nothing to append to ${stream}`);
  let bytes = 0;
  for (const { id, type, data, metadata } of events) {
    if (!UUID.test(id)) throw new Invalid(`Event id "${id}" for ${stream} is no lower-case UUID`);
    if (type === '') throw new Invalid(`Event ${id} for ${stream} has no type`);
    bytes += Buffer.byteLength(JSON.stringify(data)) + Buffer.byteLength(JSON.stringify(metadata));
    bytes += EVENT_OVERHEAD_BYTES + 2 * type.length;
  }
  if (bytes > MOST_APPEND_BYTES)
    throw new Invalid(
      `The events for ${stream} are ${bytes} bytes together; the event store takes ${MOST_APPEND_BYTES} at once`,
    );
};

/**
 * The log in EventStoreDB. A position is the commit position in its transaction file.
 *
 * The store recognises a repeated event by its id only for a while, or by the place an expected revision gives it;
 * the answer to a repetition is the first answer, unmarked. It is told by its position: at or before the end of the
 * log as it was known when the append was sent, or one that was answered with already.
 */
export class EventStoreDbLog extends EventLog {
  readonly positionUnit = 'bytes';
  private logId: string | undefined;
  /** The furthest position seen, and when that was known to be the end. */
  private end = { position: BEGINNING, at: Number.NEGATIVE_INFINITY };
  private looking: Promise<void> | undefined;
  /** The store was searched from its end back to `scanned`; the last event of ours up to there is `last`. */
  private ours = { scanned: BEGINNING, last: BEGINNING };
  /** Ids of events lately sent with an expected revision, which a repetition with another one would store again. */
  private readonly sent = new Latest<string>();
  /** Positions lately answered with, for repetitions that are under way at the same time. */
  private readonly answered = new Latest<bigint>();
  private isClosed = false;

  constructor(
    private readonly connection: EventStoreConnection,
    private readonly streams: OurStreams,
  ) {
    super();
  }

  async append(stream: string, expected: ExpectedRevision, events: readonly NewEvent[]): Promise<Appended> {
    const once = distinct(events);
    this.check(stream, once);
    const isRepeated = once.every(({ id }) => this.sent.has(id));
    const stored = isRepeated ? await this.find(stream, once) : undefined;
    if (stored !== undefined) return stored;
    for (const { id } of once) this.sent.add(id);
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

  async appendAll(entries: readonly { readonly stream: string; readonly event: NewEvent }[]): Promise<boolean[]> {
    for (const { stream, event } of entries) this.check(stream, [event]);
    if (entries.length === 1) {
      const [{ stream, event }] = entries as [(typeof entries)[number]];
      return [(await this.send(stream, 'any', [event])).duplicate];
    }
    const duplicates = entries.map(() => true);
    const known = new Set<string>();
    const streams = new Map<string, { event: NewEvent; index: number }[]>();
    for (const [index, { stream, event }] of entries.entries()) {
      if (known.has(event.id)) continue;
      known.add(event.id);
      const ofStream = streams.get(stream);
      if (ofStream === undefined) streams.set(stream, [{ event, index }]);
      else ofStream.push({ event, index });
    }
    let isLost = false;
    const outcomes = await Promise.allSettled(
      Array.from(streams, async ([stream, ofStream]) => {
        // One after the other, so that a stream keeps their order.
        for (const { event, index } of ofStream) {
          if (isLost) return;
          try {
            duplicates[index] = (await this.send(stream, 'any', [event])).duplicate;
          } catch (error) {
            isLost = true;
            throw error;
          }
        }
      }),
    );
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    return duplicates;
  }

  async readStream(stream: string, from: bigint, limit: number): Promise<RecordedEvent[]> {
    return this.readOwn(stream, from, limit);
  }

  async readAll(after: bigint, limit: number): Promise<RecordedEvent[]> {
    const wanted = Math.max(limit, LEAST_PAGE);
    const page = await this.connection.readAll(after, wanted);
    const events = this.pick(page, limit);
    if (events.length === limit || page.length < wanted) return events;
    // Much of the store is not ours. The rest is looked for by the server, which finds it sooner than we would.
    for (let from = page.at(-1)!.position; ;) {
      const asked = limit - events.length;
      const found = await this.connection.readSome(from, this.streams.prefixes, asked);
      events.push(...this.pick(found, asked));
      if (events.length === limit || found.length < asked) return events;
      from = found.at(-1)!.position;
    }
  }

  async subscribe(after: bigint, onBatch: (batch: Batch) => Promise<void>, signal: AbortSignal): Promise<void> {
    return new Follower(this.connection, this.streams, () => this.head(), onBatch, signal, after).run();
  }

  async head(): Promise<bigint> {
    for (let limit = 32; ; limit *= 16) {
      const startedAt = performance.now();
      const before = this.ours;
      const events = await this.connection.readEnd(limit);
      const newest = events[0]?.position ?? BEGINNING;
      // A store that ends before where it ended is another one, or an older copy.
      const known = newest >= before.scanned ? before : { scanned: BEGINNING, last: BEGINNING };
      const isOurs = (event: RecordedEvent): boolean => this.streams.pick(event) !== undefined;
      const last = events.find((event) => isOurs(event) || event.position <= known.scanned);
      if (last === undefined && events.length === limit) continue;
      this.know(newest, startedAt);
      const position = last === undefined ? BEGINNING : isOurs(last) ? last.position : known.last;
      if (newest >= this.ours.scanned || known !== before) this.ours = { scanned: newest, last: position };
      return position;
    }
  }

  async id(): Promise<string> {
    if (this.logId === undefined) this.logId = await this.readId();
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
  }

  /**
   * Writes the log's first event where it is missing.
   * @throws ConfigError where the store refuses the caller
   */
  async begin(): Promise<void> {
    const giveUp = performance.now() + START_LIMIT_MS;
    for (;;) {
      try {
        return await this.tryToBegin();
      } catch (error) {
        const refusal = error instanceof RefusedByStore ? error : (error as Error).cause;
        const reason = (refusal instanceof Error ? refusal : (error as Error)).message.replace(/\s+/g, ' ').trim();
        if (refusal instanceof RefusedByStore)
          throw new ConfigError(`EVENTSTORE_URL: the event store refuses this user and password (${reason})`);
        if (/certificate|self.signed|\bSSL\b|\bTLS\b|wrong version number|packet length too long/i.test(reason))
          throw new ConfigError(
            `EVENTSTORE_URL: no trusted connection to the event store (${reason}); name its certificate authority with tlsCAFile, or say tls=false where it has no TLS`,
          );
        if (!(error instanceof Unavailable)) throw error;
        if (performance.now() > giveUp)
          throw new Unavailable(
            `EVENTSTORE_URL: the event store did not answer for ${START_LIMIT_MS / 1_000} s (${reason})`,
            1,
            {
              cause: error,
            },
          );
        await sleep(200 + Math.random() * 200);
      }
    }
  }

  private async tryToBegin(): Promise<void> {
    this.logId = await this.readId();
    if (this.logId !== undefined) return;
    const data = toJson({ type: 'LogOpened', data: { logId: randomUUID(), createdAt: Date.now() } });
    const opened: NewEvent = { id: randomUUID(), type: 'LogOpened', data, metadata: {} };
    try {
      await this.connection.append(this.streams.nameInStore(OPERATIONS_STREAM), 'no-stream', [opened]);
    } catch (error) {
      // Another process opened it at the same moment; the first one's id counts.
      if (!(error instanceof WrongExpectedRevision)) throw error;
    }
    await this.id();
  }

  private async readId(): Promise<string | undefined> {
    const [first] = await this.readOwn(OPERATIONS_STREAM, 0n, 1);
    return first?.type === 'LogOpened' ? (first.data as { logId?: string }).logId : undefined;
  }

  /** Sends until there is an answer or no time; a repetition is harmless because the ids are the same. */
  private async send(stream: string, expected: ExpectedRevision, events: readonly NewEvent[]): Promise<Appended> {
    return this.connection.inTurn(async () => {
      const giveUp = performance.now() + APPEND_LIMIT_MS;
      const name = this.streams.nameInStore(stream);
      // What is known of the log's end must not be older than a moment. Under load it never is.
      if (performance.now() - this.end.at > END_IS_FRESH_MS) await this.lookAtEnd();
      const end = this.end.position;
      for (;;) {
        const sentAt = performance.now();
        try {
          const { revision, position } = await this.connection.append(name, expected, events, giveUp - sentAt);
          this.know(position, performance.now());
          // What an attempt stored whose answer was lost is no duplicate: it is after the end as it was before.
          const duplicate = position <= end || this.answered.has(position);
          this.answered.add(position);
          return { revision, position, duplicate };
        } catch (error) {
          if (error instanceof WrongExpectedRevision) throw new WrongExpectedRevision(stream, expected, error.actual);
          const pause = RETRY_MS * (0.5 + Math.random());
          const isWorthIt = error instanceof Unavailable && !(error.cause instanceof RefusedByStore);
          if (!isWorthIt || performance.now() + pause + RETRY_MS > giveUp) throw error;
          await sleep(pause);
        }
      }
    });
  }

  /** With "any", the store refuses a batch of which it knows the first and not all: the rest is stored one by one. */
  private async finish(stream: string, events: readonly NewEvent[]): Promise<Appended> {
    let last: Appended | undefined;
    for (const event of events) {
      const appended = await this.send(stream, 'any', [event]);
      if (last === undefined || !appended.duplicate) last = appended;
    }
    return { ...last!, duplicate: false };
  }

  /** The answer these events got when they were stored, where all of them are in the stream. */
  private async find(stream: string, events: readonly NewEvent[]): Promise<Appended | undefined> {
    const missing = new Set(events.map(({ id }) => id));
    let last: RecordedEvent | undefined;
    for (let from: bigint | 'end' = 'end', read = 0; read < LOOK_BACK;) {
      const page: RecordedEvent[] = await this.readOwn(stream, from, READ_PAGE, 'backwards');
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

  private check(stream: string, events: readonly NewEvent[]): void {
    if (!this.streams.includes(stream)) throw new Invalid(`Stream "${stream}" is none of this service's`);
    checkEvents(stream, events);
  }

  private pick(page: readonly RecordedEvent[], limit: number): RecordedEvent[] {
    return page.flatMap((event) => this.streams.pick(event) ?? []).slice(0, limit);
  }

  private async readOwn(
    stream: string,
    from: bigint | 'end',
    limit: number,
    direction?: 'backwards',
  ): Promise<RecordedEvent[]> {
    const events = await this.connection.readStream(this.streams.nameInStore(stream), from, limit, direction);
    return events.map((event) => ({ ...event, stream }));
  }

  private know(position: bigint, at: number): void {
    if (position >= this.end.position) this.end = { position, at: Math.max(at, this.end.at) };
  }

  private lookAtEnd(): Promise<void> {
    this.looking ??= this.readRawEnd().finally(() => (this.looking = undefined));
    return this.looking;
  }

  private async readRawEnd(): Promise<void> {
    const at = performance.now();
    const [newest] = await this.connection.readEnd(1);
    if (newest !== undefined) this.know(newest.position, at);
  }
}

/**
 * Opens the log in an EventStoreDB, making its first event where it is missing.
 * @param url a connection string, scheme `esdb`; the option `streamPrefix` keeps several logs apart in one store
 * @throws ConfigError where the string cannot be used, or the store refuses it
 * @throws Unavailable where no store answers within 20 s
 */
export const createEventStoreDbLog = async (url: string): Promise<EventLog> => {
  const { url: storeUrl, prefix } = readStreamPrefix(url);
  const log = new EventStoreDbLog(EventStoreConnection.to(storeUrl), new OurStreams(prefix));
  try {
    await log.begin();
  } catch (error) {
    await log.close();
    throw error;
  }
  return log;
};
