import {
  type AllStreamRecordedEvent,
  END,
  type EventType,
  EventStoreDBClient,
  FORWARDS,
  BACKWARDS,
  jsonEvent,
  type JSONEventType,
  type Position,
  START,
  type StreamingRead,
  streamNameFilter,
} from '@eventstore/db-client';
import { ConfigError } from '../config.js';
import { Invalid, Unavailable } from '../errors.js';
import { BEGINNING, type ExpectedRevision, type RecordedEvent, WrongExpectedRevision } from './event-log.js';

/** Everything the client package is known by ends in this file. */

/** How long nothing may be heard of a call before its outcome counts as unknown. */
export const CALL_LIMIT_MS = 1_700;
/** However lively the store is otherwise. */
const SLOWEST_CALL_MS = 5_000;
/** The client tells a silent server by its missing answer to a ping: this long after it fell silent, twice. */
const KEEP_ALIVE_MS = 1_000;
/** One HTTP/2 connection carries 100 streams; what comes after waits for ever, appends included. */
const MOST_READS = 32;
const MOST_APPENDS = 256;
/** After so long without a single answer the client itself is suspected. */
const SUSPECT_AFTER_MS = 5_000;

export interface StoredEvent {
  readonly id: string;
  readonly type: string;
  readonly data: object;
  readonly metadata: object;
}

export interface Feed {
  /** Everything that was sent is gone or wrong; nothing more will come. Called at most once. */
  readonly onLost: (reason: string) => void;
  readonly onEvent: (event: RecordedEvent) => void;
  /** The server looked at more of its log and found nothing of ours. */
  readonly onProgress: () => void;
  /** Everything the store held when it was asked has been given out. */
  readonly onCaughtUp?: () => void;
}

export interface Subscription {
  pause(): void;
  resume(): void;
  end(): void;
}

/** A read of the client's. */
type Reading = Pick<StreamingRead<unknown>, 'on' | 'cancel'>;

interface FailedCall {
  readonly type?: string;
  readonly code?: number;
  readonly message?: string;
  readonly details?: string;
  readonly actualVersion?: bigint | string;
}

/** A store that knows us and says no; asking again does not help. */
export class RefusedByStore extends Error {}

const reasonOf = (error: unknown): string => {
  const { details, message, type } = error as FailedCall;
  return (details || message || type || 'no reason given').replace(/\s+/g, ' ');
};

const isRefusal = (error: unknown): boolean =>
  (error as FailedCall).type === 'access-denied' ||
  (error as FailedCall).code === 7 ||
  (error as FailedCall).code === 16;

const unavailable = (error: unknown): Unavailable =>
  error instanceof Unavailable
    ? error
    : isRefusal(error)
      ? unavailable(new RefusedByStore(reasonOf(error), { cause: error }))
      : new Unavailable(
          'The event store did not answer, so the outcome is unknown; the same request again is safe',
          1,
          {
            cause: error,
          },
        );

const timedOut = (limitMs: number): Error => new Error(`EventStoreDB did not answer within ${Math.round(limitMs)} ms`);

const appendFailure = (stream: string, expected: ExpectedRevision, error: unknown): Error => {
  const { type, actualVersion } = error as FailedCall;
  switch (type) {
    case 'wrong-expected-version':
      return new WrongExpectedRevision(
        stream,
        expected,
        typeof actualVersion === 'bigint' ? actualVersion : 'no-stream',
      );
    case 'maximum-append-size-exceeded':
      return new Invalid(`The events for ${stream} are larger together than the event store takes at once`);
    case 'stream-deleted':
      return new Error(`Stream ${stream} was deleted in the event store for good; nothing can be appended to it`);
    default:
      return unavailable(error);
  }
};

/**
 * The client writes within promises nobody holds, and settles what is pending through other ways; what goes wrong in
 * the former is no news. Its replies to what it gave up already go wrong likewise.
 */
const isKnownClientSlip = (error: unknown): boolean => {
  if (!(error instanceof Error)) return false;
  const { code, type } = error as FailedCall;
  if (/db-client.*(batchAppend|backpressuredWrite)|grpc-js/.test(error.stack ?? '')) return true;
  return typeof type === 'string' && typeof code === 'number';
};
let isGuarded = false;
const guardAgainstClientSlips = (): void => {
  if (isGuarded) return;
  isGuarded = true;
  process.on('unhandledRejection', (reason) => {
    // Everyone else's still ends the process, as without this listener.
    if (!isKnownClientSlip(reason) && process.listenerCount('unhandledRejection') === 1) throw reason;
  });
};

/** At most so many at a time; who waits is told when the store has gone away meanwhile. */
class Turnstile {
  private running = 0;
  private readonly waiting: { readonly enter: () => void; readonly refuse: (error: unknown) => void }[] = [];

  constructor(private readonly most: number) {}

  /** Nothing to wait for where there is room. */
  enter(): Promise<void> | undefined {
    if (this.running < this.most) {
      this.running++;
      return undefined;
    }
    return new Promise<void>((enter, refuse) => this.waiting.push({ enter, refuse }));
  }

  leave(): void {
    const next = this.waiting.shift();
    if (next) next.enter();
    else this.running--;
  }

  refuseWaiting(error: unknown): void {
    for (const { refuse } of this.waiting.splice(0)) refuse(error);
  }
}

const positionAt = (position: bigint): Position => ({ commit: position, prepare: position });

const recorded = (event: AllStreamRecordedEvent | undefined): RecordedEvent | undefined => {
  if (event === undefined) return undefined;
  return {
    position: event.position.commit,
    stream: event.streamId,
    revision: event.revision,
    id: event.id.toLowerCase(),
    type: event.type,
    data: event.data,
    metadata: event.metadata ?? {},
    recordedAt: event.created.getTime(),
  };
};

/** Makes the client without its complaints, some of which hold the password; those about settings stop the start. */
const createClient = (url: string): EventStoreDBClient => {
  const complaints: string[] = [];
  const warn = console.warn;
  console.warn = (text: unknown): void => void complaints.push(String(text));
  const settings = `keepAliveInterval=${KEEP_ALIVE_MS}&keepAliveTimeout=${KEEP_ALIVE_MS}&throwOnAppendFailure=true&nodePreference=leader`;
  try {
    const client = EventStoreDBClient.connectionString(`${url.trim()}${url.includes('?') ? '&' : '?'}${settings}`);
    const unknown = complaints.map((text) => /^Unknown option key "([^"]*)"/.exec(text)?.[1]).find(Boolean);
    if (unknown !== undefined) throw new ConfigError(`EVENTSTORE_URL has the unknown option "${unknown}"`);
    if (complaints.some((text) => text.includes('tlsVerifyCert')))
      throw new ConfigError(
        'EVENTSTORE_URL has tlsVerifyCert=false, which has no effect; name the certificate authority with tlsCAFile',
      );
    return client;
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    const { message } = error as Error;
    // What the client quotes of the string may hold the password.
    const place = /at position \d+, expected .*$/s.exec(message)?.[0];
    throw new ConfigError(
      `EVENTSTORE_URL cannot be used: ${place ? `something else ${place}` : message} (esdb://[USER:PASSWORD@]HOST:PORT[?tls=false])`,
    );
  } finally {
    console.warn = warn;
  }
};

/**
 * One connection to the store, with a time limit around every call and every error told apart: what the caller did
 * wrong as itself, everything else as `Unavailable`.
 */
export class EventStoreConnection {
  private static readonly open = new Map<string, EventStoreConnection>();

  private client: EventStoreDBClient;
  private users = 0;
  private readonly appends = new Turnstile(MOST_APPENDS);
  private readonly reads = new Turnstile(MOST_READS);
  private readonly subscriptions = new Set<{ lose: (reason: string) => void }>();
  private readonly answeredAt = { append: 0, read: 0 };
  /** Reads may go on while the client has lost what it needs for appends. */
  private readonly failingSince: { append?: number | undefined; read?: number | undefined } = {};
  private pending = 0;
  private renewal: Promise<void> | undefined;

  private constructor(private readonly url: string) {
    this.client = createClient(url);
    guardAgainstClientSlips();
  }

  /**
   * The process's one connection to this store: the client keeps what is pending in one place for the whole process,
   * so a second one would take down the first one's appends with it.
   * @throws ConfigError where the connection string cannot be used
   */
  static to(url: string): EventStoreConnection {
    const connection = EventStoreConnection.open.get(url) ?? new EventStoreConnection(url);
    EventStoreConnection.open.set(url, connection);
    connection.users++;
    return connection;
  }

  /** Ends the connection with its last user, once nothing is pending. */
  async close(): Promise<void> {
    if (--this.users > 0) return;
    EventStoreConnection.open.delete(this.url);
    for (const { lose } of this.subscriptions) lose('the connection was closed');
    while (this.pending > 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await this.discard(this.client);
  }

  /** Runs what appends, when there is room for one more; turned away where the store has gone away meanwhile. */
  async inTurn<T>(run: () => Promise<T>): Promise<T> {
    return this.through(this.appends, run);
  }

  /**
   * @param limitMs after this the outcome counts as unknown
   * @throws WrongExpectedRevision
   * @throws Invalid where the store finds it too large
   * @throws Unavailable where nothing is known of the outcome
   */
  async append(
    stream: string,
    expected: ExpectedRevision,
    events: readonly StoredEvent[],
    limitMs = CALL_LIMIT_MS,
  ): Promise<{ revision: bigint; position: bigint }> {
    try {
      const result = await this.call(
        'append',
        (client) =>
          client.appendToStream(
            stream,
            events.map((event) => jsonEvent(event as JSONEventType)),
            {
              expectedRevision: expected === 'no-stream' ? 'no_stream' : expected,
            },
          ),
        limitMs,
      );
      return { revision: result.nextExpectedRevision, position: result.position!.commit };
    } catch (error) {
      throw appendFailure(stream, expected, error);
    }
  }

  /** A stream's events in either direction; none where there is no such stream. */
  async readStream(
    stream: string,
    from: bigint | 'end',
    limit: number,
    direction: typeof FORWARDS | typeof BACKWARDS = FORWARDS,
  ): Promise<RecordedEvent[]> {
    return this.read(limit, (client) =>
      client.readStream<EventType>(stream, {
        fromRevision: from === 'end' ? END : from,
        maxCount: limit,
        direction,
      }),
    );
  }

  /** Everything the store holds after a position, other people's and its own events included. */
  async readAll(after: bigint, limit: number): Promise<RecordedEvent[]> {
    if (after === BEGINNING)
      return this.read(limit, (client) => client.readAll({ fromPosition: START, maxCount: limit }));
    // The store reads the event at the position too.
    const maxCount = limit + 1;
    const events = await this.read(maxCount, (client) => client.readAll({ fromPosition: positionAt(after), maxCount }));
    return events[0]?.position === after ? events.slice(1) : events.slice(0, limit);
  }

  /**
   * What the store holds after a position of streams that begin so, looked for by the server: the client's reads know
   * no filter, its subscriptions do, and say when they have reached the end.
   */
  async readSome(after: bigint, prefixes: readonly string[], limit: number): Promise<RecordedEvent[]> {
    return this.through(this.reads, async () => {
      let subscription: Subscription | undefined;
      try {
        return await this.call(
          'read',
          (_client, touched) =>
            new Promise<RecordedEvent[]>((resolve, reject) => {
              const events: RecordedEvent[] = [];
              subscription = this.subscribe(after, prefixes, {
                onEvent: (event) => {
                  touched();
                  if (events.length < limit) events.push(event);
                  if (events.length === limit) resolve(events);
                },
                onProgress: touched,
                onCaughtUp: () => resolve(events),
                onLost: (reason) => reject(new Error(reason)),
              });
            }),
        );
      } catch (error) {
        throw unavailable(error);
      } finally {
        subscription?.end();
      }
    });
  }

  /** The end of everything the store holds, newest first. */
  async readEnd(limit: number): Promise<RecordedEvent[]> {
    return this.read(limit, (client) => client.readAll({ fromPosition: END, direction: BACKWARDS, maxCount: limit }));
  }

  /** Follows the store after a position, filtered by the server to what begins so. */
  subscribe(after: bigint, prefixes: readonly string[], feed: Feed): Subscription {
    const { onLost, onEvent, onProgress, onCaughtUp } = feed;
    const subscription = this.client.subscribeToAll(
      {
        fromPosition: after === BEGINNING ? START : positionAt(after),
        filter: streamNameFilter({
          prefixes: [...prefixes],
          checkpointInterval: 64,
          checkpointReached: async () => onProgress(),
        }),
      },
      { highWaterMark: 256 },
    );
    let isOver = false;
    const registered = { lose: (reason: string) => over(reason) };
    const over = (reason?: string): void => {
      if (isOver) return;
      isOver = true;
      this.subscriptions.delete(registered);
      subscription.unsubscribe().catch(() => {
        // It never came to be; there is nothing to end.
      });
      if (reason !== undefined) onLost(reason);
    };
    this.subscriptions.add(registered);
    subscription.on('data', ({ event }) => {
      const read = recorded(event as AllStreamRecordedEvent | undefined);
      if (!isOver && read !== undefined) onEvent(read);
    });
    subscription.on('caughtUp', () => {
      // It is said as soon as it arrives, before those that arrived earlier have been taken out.
      const tell = (): unknown => (subscription.readableLength > 0 ? setImmediate(tell) : !isOver && onCaughtUp?.());
      setImmediate(tell);
    });
    subscription.on('error', (error) => over(reasonOf(error)));
    subscription.on('end', () => over('it ended without an error'));
    subscription.on('close', () => over('it was closed'));
    return {
      pause: () => void subscription.pause(),
      resume: () => void subscription.resume(),
      end: () => over(),
    };
  }

  private async read(limit: number, start: (client: EventStoreDBClient) => Reading): Promise<RecordedEvent[]> {
    return this.through(this.reads, async () => {
      let reading: Reading | undefined;
      try {
        return await this.call(
          'read',
          (client, touched) =>
            new Promise<RecordedEvent[]>((resolve, reject) => {
              const events: RecordedEvent[] = [];
              reading = start(client);
              reading.on('data', (resolved) => {
                const { event } = resolved as { event?: AllStreamRecordedEvent };
                const read = recorded(event);
                if (read !== undefined && events.length < limit) events.push(read);
                touched();
              });
              reading.on('end', () => resolve(events));
              reading.on('error', reject);
            }),
        );
      } catch (error) {
        if ((error as FailedCall).type === 'stream-not-found') return [];
        reading?.cancel().catch(() => {
          // It never came to be; there is nothing to end.
        });
        throw unavailable(error);
      }
    });
  }

  private async through<T>(turnstile: Turnstile, run: () => Promise<T>): Promise<T> {
    const room = turnstile.enter();
    if (room !== undefined) await room;
    try {
      return await run();
    } catch (error) {
      if (error instanceof Unavailable) turnstile.refuseWaiting(error);
      throw error;
    } finally {
      turnstile.leave();
    }
  }

  /**
   * Runs a call with a limit to how long nothing may be heard: of itself, or of its kind, since a store that answers
   * others is only slow. In the end there is a limit to that too.
   */
  private call<T>(
    kind: 'append' | 'read',
    run: (client: EventStoreDBClient, touched: () => void) => Promise<T>,
    limitMs = CALL_LIMIT_MS,
  ): Promise<T> {
    if (this.renewal !== undefined) return this.renewal.then(() => this.call(kind, run, limitMs));
    this.pending++;
    const startedAt = performance.now();
    let heardAt = startedAt;
    return new Promise<T>((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined;
      const succeed = (result: T): void => {
        if (timer === undefined) return;
        end();
        this.answered(kind);
        resolve(result);
      };
      const fail = (error: unknown): void => {
        if (timer === undefined) return;
        end();
        const { type } = error as FailedCall;
        if (type === 'wrong-expected-version' || type === 'stream-not-found') this.answered(kind);
        else this.suspect(kind);
        // oxlint-disable-next-line prefer-promise-reject-errors -- what the client threw, told apart by the caller
        reject(error);
      };
      const end = (): void => {
        clearTimeout(timer);
        timer = undefined;
        this.pending--;
      };
      const giveUpOrWait = (): void => {
        if (timer === undefined) return;
        const now = performance.now();
        const left = limitMs - (now - Math.max(heardAt, this.answeredAt[kind]));
        if (left > 0 && now - startedAt < SLOWEST_CALL_MS) wait(left);
        else fail(timedOut(now - startedAt));
      };
      const wait = (ms: number): void => {
        // Answers that have arrived already are read before the call is given up.
        timer = setTimeout(() => setImmediate(giveUpOrWait), ms);
      };
      wait(limitMs);
      run(this.client, () => (heardAt = performance.now())).then(succeed, fail);
    });
  }

  private suspect(kind: 'append' | 'read'): void {
    const since = (this.failingSince[kind] ??= performance.now());
    if (performance.now() - since > SUSPECT_AFTER_MS) this.renew();
  }

  private answered(kind: 'append' | 'read'): void {
    this.answeredAt[kind] = performance.now();
    this.failingSince[kind] = undefined;
  }

  /**
   * The client finds back by itself from most failures, but keeps some for good, such as a failed answer to what the
   * server can do. So one that has not got a single answer for a while is replaced, while nothing is pending.
   */
  private renew(): void {
    if (this.renewal !== undefined || this.pending > 0) return;
    this.failingSince.append = this.failingSince.read = undefined;
    this.renewal = this.discard(this.client).then(() => {
      this.client = createClient(this.url);
      this.renewal = undefined;
      for (const { lose } of this.subscriptions) lose('the client was replaced');
    });
  }

  private async discard(client: EventStoreDBClient): Promise<void> {
    await client.dispose();
    // `dispose` leaves the connection open, and with it the process running.
    const { getChannel } = client as unknown as { getChannel: () => Promise<{ close: () => void }> };
    const closed = getChannel().then(
      (channel) => channel.close(),
      () => {
        // It never found a server.
      },
    );
    await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, 500).unref())]);
  }
}
