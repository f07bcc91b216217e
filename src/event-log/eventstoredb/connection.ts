import { setTimeout as sleep } from 'node:timers/promises';
import type { ExpectedRevision, NewEvent, RecordedEvent } from '../event-log.js';
import { CallWatchdog } from './call-watchdog.js';
import { type SubscriptionHandlers, type Reading, StoreClient, type Subscription, type Written } from './client.js';
import { isAnswer, isInvalidPosition, isMissingStream, swallowClientRejections, unavailable } from './failures.js';
import { Semaphore } from '../../flow/semaphore.js';

const MAX_READ_SILENCE_MS = 1_700;
/** A read that fails before this is retried: by then the client knows the new leader, or the server is back. */
const RETRY_READ_UNTIL_MS = 1_000;
const READ_RETRY_MS = 60;
/** A server already storing the same ids silently drops a retry. */
const REPEAT_MS = 400;
/** One HTTP/2 connection carries 100 streams; everything beyond waits forever, appends included. */
const MAX_READS = 32;
const MAX_APPENDS = 256;

/**
 * One connection to the store, with a time limit around every call and every error classified: a caller's mistake as
 * itself, everything else as `Unavailable`.
 */
export class EventStoreConnection {
  private static readonly open = new Map<string, EventStoreConnection>();

  private client: StoreClient;
  private users = 0;
  /** Connections made so far; each may be to another node. */
  connections = 0;
  /** Limits concurrent appends. */
  readonly appends = new Semaphore(MAX_APPENDS);
  private readonly reads = new Semaphore(MAX_READS);
  private readonly followers = new Set<(reason: string) => void>();
  private readonly calls = new CallWatchdog(() => this.replaceClient());
  private renewal: Promise<void> | undefined;

  private constructor(private readonly url: string) {
    this.client = this.connect();
    swallowClientRejections();
  }

  /**
   * The process's one connection to this store: the client keeps pending appends of the whole process in one place, so
   * a second connection that fails would take the first one's appends with it.
   * @throws ConfigError if the connection string is unusable
   */
  static to(url: string): EventStoreConnection {
    const connection = EventStoreConnection.open.get(url) ?? new EventStoreConnection(url);
    EventStoreConnection.open.set(url, connection);
    connection.users++;
    return connection;
  }

  /** Closes the connection with its last user, once nothing is pending. */
  async close(): Promise<void> {
    if (--this.users > 0) return;
    EventStoreConnection.open.delete(this.url);
    this.loseFollowers('the connection was closed');
    while (this.calls.pending > 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await this.client.discard();
  }

  /**
   * @param limitMs silence after which the outcome counts as unknown
   * @throws the client's own error; `appendFailure` classifies it
   */
  append(stream: string, expected: ExpectedRevision, events: readonly NewEvent[], limitMs: number): Promise<Written> {
    if (this.renewal !== undefined) return this.renewal.then(() => this.append(stream, expected, events, limitMs));
    const limits = { limitMs, repeatMs: REPEAT_MS };
    return this.calls.make('append', () => this.client.append(stream, expected, events), limits);
  }

  /** A stream's events in either direction, `from` included; none if the stream does not exist. */
  readStream(
    stream: string,
    from: bigint | 'end',
    limit: number,
    direction: 'forwards' | 'backwards' = 'forwards',
  ): Promise<RecordedEvent[]> {
    return this.read((client, touched) => client.readStream(stream, from, limit, direction, touched));
  }

  /** The event at exactly this position, by any application; undefined if the store has none there. */
  async readAt(position: bigint): Promise<RecordedEvent | undefined> {
    const [event] = await this.read((client, touched) => {
      const reading = client.readAt(position, touched);
      const events = reading.events.catch((error: unknown) => {
        if (isInvalidPosition(error)) return [];
        throw error;
      });
      return { events, cancel: () => reading.cancel() };
    });
    return event?.position === position ? event : undefined;
  }

  /** Position of the store's last event, by any application, as the leader knows it; undefined in an empty store. */
  async readEnd(): Promise<bigint | undefined> {
    const [last] = await this.read((client, touched) => client.readLast(touched));
    return last?.position;
  }

  /**
   * The store's events after a position in streams with these prefixes, searched by the server. A subscription is used
   * because reads cannot filter; it also reports its progress and when it has reached the end. Fewer than `limit` means
   * the end was reached.
   */
  readAll(after: bigint, prefixes: readonly string[], limit: number): Promise<RecordedEvent[]> {
    return this.read((client, touched) => {
      const events: RecordedEvent[] = [];
      let subscription: Subscription | undefined;
      const found = new Promise<RecordedEvent[]>((resolve, reject) => {
        subscription = client.subscribe(after, prefixes, {
          onEvent: (event) => {
            touched();
            if (events.length < limit) events.push(event);
            if (events.length === limit) resolve(events);
          },
          onCheckpoint: touched,
          onCaughtUp: () => resolve(events),
          onLost: (reason) => reject(new Error(reason)),
        });
      });
      const cancel = (): void => subscription?.end();
      return { events: found.finally(cancel), cancel };
    });
  }

  /** Follows the store after a position; the server filters streams by these prefixes. */
  subscribe(after: bigint, prefixes: readonly string[], handlers: SubscriptionHandlers): Subscription {
    const { onEvent, onCheckpoint, onLost } = handlers;
    const lose = (reason: string): void => {
      if (!this.followers.delete(lose)) return;
      subscription.end();
      onLost(reason);
    };
    this.followers.add(lose);
    const subscription = this.client.subscribe(after, prefixes, {
      ...handlers,
      onEvent: (event) => {
        this.calls.heard('read');
        onEvent(event);
      },
      onCheckpoint: (position) => {
        this.calls.heard('read');
        onCheckpoint(position);
      },
      onLost: lose,
    });
    return {
      pause: () => subscription.pause(),
      resume: () => subscription.resume(),
      end: () => {
        this.followers.delete(lose);
        subscription.end();
      },
    };
  }

  private async read(start: (client: StoreClient, touched: () => void) => Reading): Promise<RecordedEvent[]> {
    const turn = this.reads.acquire();
    if (turn !== undefined) await turn;
    try {
      return await this.readUntilAnswered(start);
    } catch (error) {
      if (isMissingStream(error)) return [];
      const failure = unavailable(error);
      this.reads.rejectQueued(failure);
      throw failure;
    } finally {
      this.reads.release();
    }
  }

  private async readUntilAnswered(
    start: (client: StoreClient, touched: () => void) => Reading,
  ): Promise<RecordedEvent[]> {
    const startedAt = performance.now();
    for (;;) {
      await this.renewal;
      let reading: Reading | undefined;
      const read = (call: { heartbeat(): void }): Promise<RecordedEvent[]> => {
        reading = start(this.client, () => call.heartbeat());
        return reading.events;
      };
      const limitMs = startedAt + MAX_READ_SILENCE_MS - performance.now();
      try {
        return await this.calls.make('read', read, { limitMs, repeatMs: Number.POSITIVE_INFINITY });
      } catch (error) {
        if (isAnswer(error)) throw error;
        reading?.cancel();
        if (performance.now() > startedAt + RETRY_READ_UNTIL_MS) throw error;
      }
      await sleep(READ_RETRY_MS);
    }
  }

  /**
   * The client recovers from most failures, but not from a frozen server or a vanished host: it reconnects to it for as
   * long as the cluster names it, and waits without a limit. It also caches some failures forever, such as a failed
   * query of the server's features. So a client that gets no answer is replaced, whatever is pending; the next one
   * repeats pending appends.
   */
  private replaceClient(): void {
    if (this.renewal !== undefined) return;
    this.calls.failAll(new Error('EventStoreDB did not respond for 3 s; the connection was dropped'));
    this.renewal = this.client.discard().then(() => {
      this.client = this.connect();
      this.renewal = undefined;
      this.loseFollowers('the connection was dropped');
    });
  }

  private connect(): StoreClient {
    return new StoreClient(this.url, () => {
      // A subscription on the former connection may be on a node that no longer leads.
      if (++this.connections > 1) this.loseFollowers('the client reconnected');
    });
  }

  private loseFollowers(reason: string): void {
    for (const lose of this.followers) lose(reason);
  }
}
