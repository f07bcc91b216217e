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
import { finishesWithin } from '../../flow/deadline.js';
import { connectBy } from './connection-string.js';
import './decoded-once.js';
import { reasonOf } from './failures.js';

/** Translates the client package to the log's types. The only other file that imports the package is `decoded-once.ts`. */

/** Events buffered for a paused receiver. */
const AHEAD = 256;
/**
 * How many events of other applications the server skips in one read, and how often it reports its progress. With the
 * default of 32, skipping a million of them is many times more expensive.
 */
const SEARCH_WINDOW = 2_048;
const DISCARD_MS = 500;
/**
 * Every call goes to the leader: only its head is the head, because a follower may lag. Any other node refuses with the
 * leader's address, and the client reconnects there.
 */
const AT_LEADER = { requiresLeader: true } as const;
const GRPC_OK = 0;

export interface Written {
  /** Of the last of the events. */
  readonly nextExpectedRevision: bigint;
  readonly position?: Position | undefined;
}

export interface SubscriptionHandlers {
  /** The subscription is broken; nothing more will arrive. Called at most once. */
  readonly onLost: (reason: string) => void;
  readonly onEvent: (event: RecordedEvent) => void;
  /** The server has searched its log up to here, and everything it found has been delivered. */
  readonly onCheckpoint: (position: bigint) => void;
  /** Everything the store held at the start of the subscription has been delivered. */
  readonly onCaughtUp: () => void;
}

export interface Subscription {
  pause(): void;
  resume(): void;
  end(): void;
}

export interface Reading {
  /** Rejects with the client's own error, also if the server did not say that it has sent everything. */
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
 * The client ends a read that was cancelled without an error, as if everything had been read: reconnecting cancels all
 * open reads. Only gRPC's own status says whether the server sent everything. The client pipes gRPC's stream into the
 * one that it hands out, and the status always arrives before the end of that one.
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
        // It was never established; nothing to close.
      }),
  };
};

interface Channel {
  close(): void;
}

/** The client of one store. Its calls have no time limit and reject with the client's own errors. */
export class StoreClient {
  private readonly client: EventStoreDBClient;
  private readonly channels: Channel[] = [];
  private isDiscarded = false;

  /**
   * @param onConnection called for each new connection, which may be to another node
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

  /**
   * A stream's events in either direction, the one at `from` included.
   * @param onEvent called for each event that arrives, as in the other reads
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

  /** The event at a position or, beyond gaps, the next one; fails if no event begins there. */
  readAt(position: bigint, onEvent: () => void): Reading {
    return reading(
      this.client.readAll({ fromPosition: positionAt(position), direction: FORWARDS, maxCount: 1, ...AT_LEADER }),
      onEvent,
    );
  }

  /** The last event of the store, by any application; none in an empty one. */
  readLast(onEvent: () => void): Reading {
    return reading(
      this.client.readAll({ fromPosition: END, direction: BACKWARDS, maxCount: 1, ...AT_LEADER }),
      onEvent,
    );
  }

  /** Follows the store after a position; the server filters streams by these prefixes. */
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
          checkpointReached: async (_, { commit }) => {
            checkpoint = commit;
            say();
          },
        }),
        ...AT_LEADER,
      },
      { highWaterMark: AHEAD },
    );
    // Progress messages overtake events that arrived earlier but are still buffered, so they wait until it is empty.
    let checkpoint: bigint | undefined;
    let isCaughtUp = false;
    const say = (): void => {
      if (isOver || subscription.readableLength > 0) return;
      if (checkpoint !== undefined) onCheckpoint(checkpoint);
      checkpoint = undefined;
      if (isCaughtUp) onCaughtUp();
      isCaughtUp = false;
    };
    let isOver = false;
    const over = (reason?: string): void => {
      if (isOver) return;
      isOver = true;
      subscription.unsubscribe().catch(() => {
        // It was never established; nothing to close.
      });
      if (reason !== undefined) onLost(reason);
    };
    subscription.on('data', ({ event }) => {
      const read = recorded(event as AllStreamRecordedEvent | undefined);
      if (!isOver && read !== undefined) onEvent(read);
      if (checkpoint !== undefined || isCaughtUp) say();
    });
    subscription.on('caughtUp', () => {
      isCaughtUp = true;
      say();
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

  /** Closes its connections. Pending calls of this client, or another one in the process, are lost. */
  async discard(): Promise<void> {
    this.isDiscarded = true;
    const disposed = this.client.dispose();
    for (const channel of this.channels) channel.close();
    await finishesWithin(disposed, DISCARD_MS);
  }

  /**
   * The client forgets a failed connection but leaves it open with its remaining streams, always the one for appends.
   * Closing it makes what is pending there fail now instead of later.
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
