import { setTimeout as sleep } from 'node:timers/promises';
import type { ExpectedRevision, NewEvent, RecordedEvent } from '../event-log.js';
import { CallWatchdog } from './call-watchdog.js';
import { type SubscriptionHandlers, type Reading, StoreClient, type Subscription, type Written } from './client.js';
import { isAnswer, isMissingStream, swallowClientRejections, unavailable } from './failures.js';
import { Semaphore } from '../../semaphore.js';

const MAX_READ_SILENCE_MS = 1_700;
/** A read that failed before this is made again: the client has met the new leader, or the server that is back. */
const RETRY_READ_UNTIL_MS = 1_000;
const READ_RETRY_MS = 60;
/** A server that is busy storing the same ids for someone else drops a repetition without a word. */
const REPEAT_MS = 400;
/** One HTTP/2 connection carries 100 streams; what comes after waits forever, appends included. */
const MAX_READS = 32;
const MAX_APPENDS = 256;
/**
 * One connection to the store, with a time limit around every call and every error classified: what the caller did
 * wrong as itself, everything else as `Unavailable`.
 */
export class EventStoreConnection {
  private static readonly open = new Map<string, EventStoreConnection>();

  private client: StoreClient;
  private users = 0;
  /** How many connections were made; each may be to another node. */
  connections = 0;
  /** What appends goes in here, and leaves when it is answered. */
  readonly appends = new Semaphore(MAX_APPENDS);
  private readonly reads = new Semaphore(MAX_READS);
  private readonly followers = new Set<(reason: string) => void>();
  private readonly calls = new CallWatchdog(() => this.leave());
  private renewal: Promise<void> | undefined;

  private constructor(private readonly url: string) {
    this.client = this.connect();
    swallowClientRejections();
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
    this.loseFollowers('the connection was closed');
    while (this.calls.pending > 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await this.client.discard();
  }

  /**
   * @param limitMs after this without a word from the store the outcome counts as unknown
   * @throws what the client throws; `appendFailure` tells it apart
   */
  append(stream: string, expected: ExpectedRevision, events: readonly NewEvent[], limitMs: number): Promise<Written> {
    if (this.renewal !== undefined) return this.renewal.then(() => this.append(stream, expected, events, limitMs));
    const limits = { limitMs, repeatMs: REPEAT_MS };
    return this.calls.make('append', () => this.client.append(stream, expected, events), limits);
  }

  /** A stream's events in either direction, the one at `from` included; none where there is no such stream. */
  readStream(
    stream: string,
    from: bigint | 'end',
    limit: number,
    direction: 'forwards' | 'backwards' = 'forwards',
  ): Promise<RecordedEvent[]> {
    return this.read((client, touched) => client.readStream(stream, from, limit, direction, touched));
  }

  /** Position of the store's last event, by any application, as the leader knows it; undefined in an empty store. */
  async readEnd(): Promise<bigint | undefined> {
    const [last] = await this.read((client, touched) => client.readLast(touched));
    return last?.position;
  }

  /**
   * What the store holds after a position of streams that begin so, looked for by the server: the client's reads know
   * no filter, its subscriptions do, and say how far they have come and when they have reached the end. Fewer than
   * `limit` means the end was reached.
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

  /** Follows the store after a position, filtered by the server to what begins so. */
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
    const room = this.reads.acquire();
    if (room !== undefined) await room;
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
   * The client finds back by itself from most failures. Not from a server that is frozen, or whose host has vanished: it
   * connects to it again for as long as the cluster names it, and waits without a limit. And it keeps some failures for
   * good, such as a failed answer to what the server can do. So a client that gets no answer is replaced, whatever is
   * pending; appends that were are made again by the next one.
   */
  private leave(): void {
    if (this.renewal !== undefined) return;
    this.calls.failAll(new Error('The connection to EventStoreDB gave no answer for 3 s and was left'));
    this.renewal = this.client.discard().then(() => {
      this.client = this.connect();
      this.renewal = undefined;
      this.loseFollowers('the connection was left');
    });
  }

  private connect(): StoreClient {
    return new StoreClient(this.url, () => {
      // A subscription on the former connection may be with a node that is no longer the leader.
      if (++this.connections > 1) this.loseFollowers('there is another connection');
    });
  }

  private loseFollowers(reason: string): void {
    for (const lose of this.followers) lose(reason);
  }
}
