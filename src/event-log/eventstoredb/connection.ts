import { setTimeout as sleep } from 'node:timers/promises';
import { type ExpectedRevision, MAX_PAGE_BYTES, type NewEvent, type RecordedEvent } from '../event-log.js';
import { CallWatchdog } from './call-watchdog.js';
import { type SubscriptionHandlers, type Reading, StoreClient, type Subscription, type Written } from './client.js';
import {
  isDeletedStream,
  isResponse,
  isInvalidPosition,
  isMissingStream,
  swallowClientRejections,
  unavailable,
} from './failures.js';
import { Semaphore } from '../../flow/concurrency-limit.js';
import { limit } from '../../limits.js';

/** Time without a response after which a read fails. */
const MAX_READ_SILENCE_MS = 1_700;
/** A read that fails within this time is retried, because the client may then know the new leader. */
const RETRY_READ_UNTIL_MS = 1_000;
const READ_RETRY_MS = 60;
/**
 * Time without a response after which an append is repeated. A server that is storing the same ids drops a repeated
 * append.
 */
const RETRY_APPEND_MS = 400;
/**
 * One HTTP/2 connection carries 100 streams. Calls beyond this limit, including appends, would wait without an error.
 */
const MAX_READS = limit('reads of EventStoreDB', 32, 'calls', 'process', 'waits');
const MAX_APPENDS = limit('appends to EventStoreDB', 256, 'calls', 'process', 'waits');

/** Whether a page has enough events or bytes. Positions are offsets in the store's files. */
export const isFullPage = (events: readonly RecordedEvent[], limit: number): boolean => {
  const [first] = events;
  if (first === undefined) return false;
  return events.length >= limit || Number(events.at(-1)!.position - first.position) >= MAX_PAGE_BYTES;
};

/**
 * One connection to the store. Every call has a timeout. A failed read throws `Unavailable`; the errors of appends are
 * classified by `appendFailure`.
 */
export class EventStoreConnection {
  private static readonly open = new Map<string, EventStoreConnection>();

  private client: StoreClient;
  private users = 0;
  /** Number of connections made so far. Each connection may be to another node. */
  connections = 0;
  /** Limits concurrent appends. */
  readonly appends = new Semaphore(MAX_APPENDS);
  private readonly reads = new Semaphore(MAX_READS);
  private readonly subscriptions = new Set<(reason: string) => void>();
  private readonly calls = new CallWatchdog(() => this.replaceClient());
  private replacement: Promise<void> | undefined;

  private constructor(private readonly url: string) {
    this.client = this.connect();
    swallowClientRejections();
  }

  /**
   * Returns the process's only connection to this store. The client keeps the pending appends of the whole process in
   * one map, so the failure of a second connection would also fail the appends of the first connection.
   * @throws ConfigError if the connection string is unusable
   */
  static to(url: string): EventStoreConnection {
    const connection = EventStoreConnection.open.get(url) ?? new EventStoreConnection(url);
    EventStoreConnection.open.set(url, connection);
    connection.users++;
    return connection;
  }

  /** Closes the connection once its last user has called this method and no call is pending. */
  async close(): Promise<void> {
    if (--this.users > 0) return;
    EventStoreConnection.open.delete(this.url);
    this.endSubscriptions('the connection was closed');
    while (this.calls.pending > 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await this.client.discard();
  }

  /**
   * @param timeoutMs time without a response after which the outcome counts as unknown
   * @throws the error of the client package; `appendFailure` classifies it
   */
  append(stream: string, expected: ExpectedRevision, events: readonly NewEvent[], timeoutMs: number): Promise<Written> {
    if (this.replacement !== undefined)
      return this.replacement.then(() => this.append(stream, expected, events, timeoutMs));
    const limits = { timeoutMs, retryAfterMs: RETRY_APPEND_MS };
    return this.calls.make('append', () => this.client.append(stream, expected, events), limits);
  }

  /** Deletes a stream for good. Does nothing if the stream was deleted before. */
  async tombstone(stream: string): Promise<void> {
    await this.replacement;
    const limits = { timeoutMs: MAX_READ_SILENCE_MS, retryAfterMs: RETRY_APPEND_MS };
    try {
      await this.calls.make('append', () => this.client.tombstone(stream), limits);
    } catch (error) {
      if (!isDeletedStream(error)) throw unavailable(error);
    }
  }

  /**
   * Reads a stream in either direction, including the event at `from`. Returns no events if the stream does not exist.
   */
  readStream(
    stream: string,
    from: bigint | 'end',
    limit: number,
    direction: 'forwards' | 'backwards' = 'forwards',
  ): Promise<RecordedEvent[]> {
    return this.read((client, onResponse) => client.readStream(stream, from, limit, direction, onResponse));
  }

  /** Reads the event at exactly this position, of any application; undefined if no event is there. */
  async readAt(position: bigint): Promise<RecordedEvent | undefined> {
    const [event] = await this.read((client, onResponse) => {
      const reading = client.readAt(position, onResponse);
      const events = reading.events.catch((error: unknown) => {
        if (isInvalidPosition(error)) return [];
        throw error;
      });
      return { events, cancel: () => reading.cancel() };
    });
    return event?.position === position ? event : undefined;
  }

  /** Reads the position of the store's last event, of any application; undefined if the store is empty. */
  async readEnd(): Promise<bigint | undefined> {
    const [last] = await this.read((client, onResponse) => client.readLast(onResponse));
    return last?.position;
  }

  /**
   * Reads the next page of events after a position in streams whose names have one of the prefixes; the page is empty
   * only if the store has no more such events. Uses a subscription, because reads cannot filter.
   */
  readAll(after: bigint, prefixes: readonly string[], limit: number): Promise<RecordedEvent[]> {
    return this.read((client, onResponse) => {
      const events: RecordedEvent[] = [];
      let subscription: Subscription | undefined;
      const found = new Promise<RecordedEvent[]>((resolve, reject) => {
        subscription = client.subscribe(after, prefixes, {
          onEvent: (event) => {
            onResponse();
            if (!isFullPage(events, limit)) events.push(event);
            if (isFullPage(events, limit)) resolve(events);
          },
          onCheckpoint: onResponse,
          onCaughtUp: () => resolve(events),
          onLost: (reason) => reject(new Error(reason)),
        });
      });
      const cancel = (): void => subscription?.end();
      return { events: found.finally(cancel), cancel };
    });
  }

  /** Subscribes to the events after a position in streams whose names have one of the prefixes. */
  subscribe(after: bigint, prefixes: readonly string[], handlers: SubscriptionHandlers): Subscription {
    const { onEvent, onCheckpoint, onLost } = handlers;
    const lose = (reason: string): void => {
      if (!this.subscriptions.delete(lose)) return;
      subscription.end();
      onLost(reason);
    };
    this.subscriptions.add(lose);
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
        this.subscriptions.delete(lose);
        subscription.end();
      },
    };
  }

  private async read(start: (client: StoreClient, onResponse: () => void) => Reading): Promise<RecordedEvent[]> {
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
    start: (client: StoreClient, onResponse: () => void) => Reading,
  ): Promise<RecordedEvent[]> {
    const startedAt = performance.now();
    for (;;) {
      await this.replacement;
      let reading: Reading | undefined;
      const read = (call: { heartbeat(): void }): Promise<RecordedEvent[]> => {
        reading = start(this.client, () => call.heartbeat());
        return reading.events;
      };
      const timeoutMs = startedAt + MAX_READ_SILENCE_MS - performance.now();
      try {
        return await this.calls.make('read', read, { timeoutMs, retryAfterMs: Number.POSITIVE_INFINITY });
      } catch (error) {
        if (isResponse(error)) throw error;
        reading?.cancel();
        if (performance.now() > startedAt + RETRY_READ_UNTIL_MS) throw error;
      }
      await sleep(READ_RETRY_MS);
    }
  }

  /**
   * Replaces a client that gets no response. The client does not recover from a frozen server or a vanished host: as
   * long as the cluster names that server as the leader, the client connects to it again and waits without a timeout.
   * The client also caches some failures for ever, such as a failed query of the server's features. All pending calls
   * fail; appends are then retried.
   */
  private replaceClient(): void {
    if (this.replacement !== undefined) return;
    this.calls.failAll(new Error('EventStoreDB did not respond for 3 s; the connection was dropped'));
    this.replacement = this.client.discard().then(() => {
      this.client = this.connect();
      this.replacement = undefined;
      this.endSubscriptions('the connection was dropped');
    });
  }

  private connect(): StoreClient {
    return new StoreClient(this.url, () => {
      // Subscriptions of the previous connection may be on a node that is no longer the leader.
      if (++this.connections > 1) this.endSubscriptions('the client reconnected');
    });
  }

  private endSubscriptions(reason: string): void {
    for (const lose of this.subscriptions) lose(reason);
  }
}
