import {
  type AllStreamRecordedEvent,
  BACKWARDS,
  END,
  EventStoreDBClient,
  FORWARDS,
  jsonEvent,
  type JSONEventType,
  type Position,
  START,
  type StreamingRead,
  streamNameFilter,
} from '@eventstore/db-client';
import type { Readable } from 'node:stream';
import { BEGINNING, type ExpectedRevision, type NewEvent, type RecordedEvent } from '../event-log.js';
import { finishesWithin } from '../../flow/time.js';
import { connectBy } from './connection-string.js';
import { PassedPosition } from './passed-position.js';
import './decoded-once.js';
import { reasonOf } from './failures.js';

/**
 * Translates between the client package and the types of the log. The only other file that imports the package is
 * `decoded-once.ts`.
 */

/** Maximum number of events that are buffered while the receiver is paused. */
const MAX_BUFFERED_EVENTS = 256;
/**
 * The number of events of other applications that the server skips before it reports its position. The default of 32
 * makes skipping a million events many times more expensive.
 */
const SEARCH_WINDOW = 2_048;
const DISCARD_MS = 500;
/**
 * Every call requires the leader, because other nodes may lag. Another node rejects the call with the address of the
 * leader, and the client connects to that address.
 */
const AT_LEADER = { requiresLeader: true } as const;
const GRPC_OK = 0;

/** The revision and position of the last event of an append. */
export interface Written {
  readonly nextExpectedRevision: bigint;
  readonly position?: Position | undefined;
}

export interface SubscriptionHandlers {
  /** Called at most once, if the subscription is broken and delivers nothing more. */
  readonly onLost: (reason: string) => void;
  readonly onEvent: (event: RecordedEvent) => void;
  /** Called once everything up to a position has been delivered. */
  readonly onCheckpoint: (position: bigint) => void;
  /** Called once everything that the store held at the start of the subscription has been delivered. */
  readonly onCaughtUp: () => void;
}

export interface Subscription {
  pause(): void;
  resume(): void;
  end(): void;
}

export interface Reading {
  /** Rejects with the client's own error, or if the read ended before the server had sent everything. */
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

/**
 * Collects the events of a read. The client cancels all open reads when it reconnects, and ends a cancelled read
 * without an error. Only the status of the gRPC stream shows whether the server sent everything. The client pipes the
 * gRPC stream into the stream that it returns, and the status arrives before the returned stream ends.
 */
const reading = (stream: Pick<StreamingRead<unknown>, 'on' | 'cancel'>, onEvent: () => void): Reading => {
  const found: RecordedEvent[] = [];
  let isComplete = false;
  (stream as unknown as Readable).on('pipe', (call: Readable) =>
    call.on('status', ({ code }: { readonly code: number }) => {
      isComplete = code === GRPC_OK;
    }),
  );
  return {
    events: new Promise<RecordedEvent[]>((resolve, reject) => {
      stream.on('data', (resolved) => {
        const read = recorded((resolved as { event?: AllStreamRecordedEvent }).event);
        if (read !== undefined) found.push(read);
        onEvent();
      });
      stream.on('end', () => (isComplete ? resolve(found) : reject(new Error('The read was cut off'))));
      stream.on('error', reject);
    }),
    cancel: () =>
      void stream.cancel().catch(() => {
        // The read was never established.
      }),
  };
};

interface Channel {
  close(): void;
}

/** The client of one store. The calls have no timeout and reject with the errors of the client package. */
export class StoreClient {
  private readonly client: EventStoreDBClient;
  private readonly channels: Channel[] = [];
  private isDiscarded = false;

  /**
   * @param onConnection called for each new connection, possibly to another node
   * @throws ConfigError if the connection string is unusable
   */
  constructor(
    url: string,
    private readonly onConnection: () => void,
  ) {
    this.client = connectBy(url, (settled) => EventStoreDBClient.connectionString(settled));
    this.trackChannels();
  }

  append(stream: string, expected: ExpectedRevision, events: readonly NewEvent[]): Promise<Written> {
    return this.client.appendToStream(
      stream,
      events.map((event) => jsonEvent(event as JSONEventType & NewEvent)),
      { expectedRevision: expected === 'no-stream' ? 'no_stream' : expected, ...AT_LEADER },
    );
  }

  /** Deletes a stream for good. Its events stay in `$all` until the nodes are scavenged. */
  async tombstone(stream: string): Promise<void> {
    await this.client.tombstoneStream(stream, AT_LEADER);
  }

  /**
   * Reads a stream in either direction, including the event at `from`.
   * @param onEvent called for each event that arrives
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
        ...AT_LEADER,
      }),
      onEvent,
    );
  }

  /** Reads the event at a position. If no event begins at the position, the read fails or returns a later event. */
  readAt(position: bigint, onEvent: () => void): Reading {
    return reading(
      this.client.readAll({ fromPosition: positionAt(position), direction: FORWARDS, maxCount: 1, ...AT_LEADER }),
      onEvent,
    );
  }

  /** Reads the last event of the store, of any application. Returns no event if the store is empty. */
  readLast(onEvent: () => void): Reading {
    return reading(
      this.client.readAll({ fromPosition: END, direction: BACKWARDS, maxCount: 1, ...AT_LEADER }),
      onEvent,
    );
  }

  /** Subscribes to the events after a position in streams whose names have one of the prefixes. */
  subscribe(
    after: bigint,
    prefixes: readonly string[],
    { onLost, onEvent, onCheckpoint, onCaughtUp }: SubscriptionHandlers,
  ): Subscription {
    const subscription = this.client.subscribeToAll(
      {
        fromPosition: after === BEGINNING ? START : positionAt(after),
        filter: streamNameFilter({
          prefixes: [...prefixes],
          maxSearchWindow: SEARCH_WINDOW,
          checkpointInterval: 1,
          checkpointReached: async (_, place) => {
            checkpoint = passed.record(place);
            report();
          },
        }),
        ...AT_LEADER,
      },
      { highWaterMark: MAX_BUFFERED_EVENTS },
    );
    const passed = new PassedPosition(after);
    // Checkpoints overtake events that are still buffered, so they are reported once the buffer is empty.
    let checkpoint: bigint | undefined;
    let isCaughtUp = false;
    const report = (): void => {
      if (hasEnded || subscription.readableLength > 0) return;
      if (checkpoint !== undefined) onCheckpoint(checkpoint);
      checkpoint = undefined;
      if (isCaughtUp) onCaughtUp();
      isCaughtUp = false;
    };
    let hasEnded = false;
    const end = (reason?: string): void => {
      if (hasEnded) return;
      hasEnded = true;
      subscription.unsubscribe().catch(() => {
        // The subscription was never established.
      });
      if (reason !== undefined) onLost(reason);
    };
    subscription.on('data', ({ event }) => {
      const read = recorded(event as AllStreamRecordedEvent | undefined);
      if (!hasEnded && read !== undefined) onEvent(read);
      if (checkpoint !== undefined || isCaughtUp) report();
    });
    subscription.on('caughtUp', () => {
      isCaughtUp = true;
      report();
    });
    subscription.on('error', (error) => end(reasonOf(error)));
    subscription.on('end', () => end('it ended without an error'));
    subscription.on('close', () => end('it was closed'));
    return {
      pause: () => void subscription.pause(),
      resume: () => void subscription.resume(),
      end: () => end(),
    };
  }

  /** Closes the connections. Pending calls of this client, and of any other client in the process, are lost. */
  async discard(): Promise<void> {
    this.isDiscarded = true;
    const disposed = this.client.dispose();
    for (const channel of this.channels) channel.close();
    await finishesWithin(disposed, DISCARD_MS);
  }

  /**
   * Closes the previous connection whenever the client opens a new one. The client itself leaves a failed connection
   * open for its remaining streams, so pending appends would fail later.
   */
  private trackChannels(): void {
    const client = this.client as unknown as { createChannel: () => Promise<Channel> };
    const create = client.createChannel;
    client.createChannel = async () => {
      void this.client.dispose();
      for (const former of this.channels.splice(0)) former.close();
      const channel = await create();
      this.channels.push(channel);
      if (this.isDiscarded) channel.close();
      else this.onConnection();
      return channel;
    };
  }
}
