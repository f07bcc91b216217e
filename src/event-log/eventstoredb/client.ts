import {
  type AllStreamRecordedEvent,
  BACKWARDS,
  END,
  EventStoreDBClient,
  FORWARDS,
  type JSONEventData,
  type Position,
  START,
  type StreamingRead,
  streamNameFilter,
} from '@eventstore/db-client';
import { BEGINNING, type ExpectedRevision, type RecordedEvent } from '../event-log.js';
import { connectBy } from './connection-string.js';
import { reasonOf } from './failures.js';

/** The one file that names the client package: what it takes and gives, in the log's own terms. */

/** How many events are kept for a receiver that has paused. */
const AHEAD = 256;
/** A subscription that finds nothing says how far it has come each so many times 32 events. */
const CHECKPOINT_INTERVAL = 64;
const DISCARD_MS = 500;

/** An event that was looked at: the client can write it. */
export interface WritableEvent {
  readonly id: string;
  readonly type: string;
  readonly contentType: 'application/json';
  readonly data: object;
  /** JSON. As bytes, which the client takes as they are. */
  readonly metadata: Uint8Array;
}

export interface Written {
  /** Of the last of the events. */
  readonly nextExpectedRevision: bigint;
  readonly position?: Position | undefined;
}

export interface SubscriptionHandlers {
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

export interface Reading {
  /** Fails with what the client fails with. */
  readonly events: Promise<RecordedEvent[]>;
  cancel(): void;
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

const reading = (stream: Pick<StreamingRead<unknown>, 'on' | 'cancel'>, onEvent: () => void): Reading => {
  const found: RecordedEvent[] = [];
  return {
    events: new Promise<RecordedEvent[]>((resolve, reject) => {
      stream.on('data', (resolved) => {
        const read = recorded((resolved as { event?: AllStreamRecordedEvent }).event);
        if (read !== undefined) found.push(read);
        onEvent();
      });
      stream.on('end', () => resolve(found));
      stream.on('error', reject);
    }),
    cancel: () =>
      void stream.cancel().catch(() => {
        // It never came to be; there is nothing to end.
      }),
  };
};

/** The client of one store. Its calls have no limit in time, and fail with what the client fails with. */
export class StoreClient {
  private readonly client: EventStoreDBClient;

  /** @throws ConfigError where the connection string cannot be used */
  constructor(url: string) {
    this.client = connectBy(url, (settled) => EventStoreDBClient.connectionString(settled));
  }

  append(stream: string, expected: ExpectedRevision, events: readonly WritableEvent[]): Promise<Written> {
    return this.client.appendToStream(stream, events as unknown as JSONEventData[], {
      expectedRevision: expected === 'no-stream' ? 'no_stream' : expected,
    });
  }

  /**
   * A stream's events in either direction, the one at `from` included.
   * @param onEvent told of each event that arrives; so with the other reads
   */
  readStream(
    stream: string,
    from: bigint | 'end',
    limit: number,
    direction: 'forwards' | 'backwards',
    onEvent: () => void,
  ): Reading {
    return reading(
      this.client.readStream(stream, {
        fromRevision: from === 'end' ? END : from,
        maxCount: limit,
        direction: direction === 'forwards' ? FORWARDS : BACKWARDS,
      }),
      onEvent,
    );
  }

  /** Everything the store holds from a position on, the event at it included. */
  readAll(from: bigint, limit: number, onEvent: () => void): Reading {
    return reading(
      this.client.readAll({ fromPosition: from === BEGINNING ? START : positionAt(from), maxCount: limit }),
      onEvent,
    );
  }

  /** What the store holds before a position, the event at it not included; newest first. */
  readBack(before: bigint | 'end', limit: number, onEvent: () => void): Reading {
    return reading(
      this.client.readAll({
        fromPosition: before === 'end' ? END : positionAt(before),
        direction: BACKWARDS,
        maxCount: limit,
      }),
      onEvent,
    );
  }

  /** Follows the store after a position, filtered by the server to streams that begin so. */
  subscribe(
    after: bigint,
    prefixes: readonly string[],
    { onLost, onEvent, onProgress, onCaughtUp }: SubscriptionHandlers,
  ): Subscription {
    const subscription = this.client.subscribeToAll(
      {
        fromPosition: after === BEGINNING ? START : positionAt(after),
        filter: streamNameFilter({
          prefixes: [...prefixes],
          checkpointInterval: CHECKPOINT_INTERVAL,
          checkpointReached: async () => onProgress(),
        }),
      },
      { highWaterMark: AHEAD },
    );
    let isOver = false;
    const over = (reason?: string): void => {
      if (isOver) return;
      isOver = true;
      subscription.unsubscribe().catch(() => {
        // It never came to be; there is nothing to end.
      });
      if (reason !== undefined) onLost(reason);
    };
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

  /** Ends the connection. What is pending, on this client or another one in the process, is lost with it. */
  async discard(): Promise<void> {
    await this.client.dispose();
    // `dispose` leaves the connection open, and with it the process running.
    const { getChannel } = this.client as unknown as { getChannel: () => Promise<{ close: () => void }> };
    const closed = getChannel().then(
      (channel) => channel.close(),
      () => {
        // It never found a server.
      },
    );
    await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, DISCARD_MS).unref())]);
  }
}
