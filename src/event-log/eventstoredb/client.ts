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
import { BEGINNING, type ExpectedRevision, type NewEvent, type RecordedEvent } from '../event-log.js';
import { connectBy } from './connection-string.js';
import './decoded-once.js';
import { reasonOf } from './failures.js';

/** The client package, which no other file but `decoded-once.ts` names: what it takes and gives, in the log's own terms. */

/** How many events are kept for a receiver that has paused. */
const AHEAD = 256;
/**
 * How many of other people's events the server passes over in one read, and after how many it says how far it has come.
 * Its default of 32 makes passing over a million of them many times more expensive.
 */
const SEARCH_WINDOW = 2_048;
const DISCARD_MS = 500;
/**
 * Every call goes to the leader: only there is the end of the log the end, for a follower may lag. A node that is not,
 * or no longer, the leader refuses with the leader's address, and the client moves there.
 */
const AT_LEADER = { requiresLeader: true } as const;

export interface Written {
  /** Of the last of the events. */
  readonly nextExpectedRevision: bigint;
  readonly position?: Position | undefined;
}

export interface SubscriptionHandlers {
  /** Everything that was sent is gone or wrong; nothing more will come. Called at most once. */
  readonly onLost: (reason: string) => void;
  readonly onEvent: (event: RecordedEvent) => void;
  /** The server has looked at its log up to here, and everything it found has been given out. */
  readonly onCheckpoint: (position: bigint) => void;
  /** Everything the store held when it was asked has been given out. */
  readonly onCaughtUp: () => void;
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

interface Channel {
  close(): void;
}

/** The client of one store. Its calls have no limit in time, and fail with what the client fails with. */
export class StoreClient {
  private readonly client: EventStoreDBClient;
  private readonly channels: Channel[] = [];
  private isDiscarded = false;

  /**
   * @param onConnection called for each connection it makes: to another node, where one has failed or does not lead
   * @throws ConfigError where the connection string cannot be used
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
   * @param onEvent called for each event that arrives; so with the other reads
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

  /** The last event of the store, by any application; none in an empty one. */
  readLast(onEvent: () => void): Reading {
    return reading(
      this.client.readAll({ fromPosition: END, direction: BACKWARDS, maxCount: 1, ...AT_LEADER }),
      onEvent,
    );
  }

  /** Follows the store after a position, filtered by the server to streams that begin so. */
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
    // What the server says comes as soon as it arrives, before those events that arrived earlier have been taken out.
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
        // It never came to be; there is nothing to end.
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

  /** Ends its connections. What is pending, on this client or another one in the process, is lost with it. */
  async discard(): Promise<void> {
    this.isDiscarded = true;
    const disposed = this.client.dispose();
    for (const channel of this.channels) channel.close();
    await Promise.race([disposed, new Promise((resolve) => setTimeout(resolve, DISCARD_MS).unref())]);
  }

  /**
   * The client forgets a connection that failed, and leaves it open with the streams that are still on it, the one for
   * appends always. What is pending there fails, as it would have in the end.
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
