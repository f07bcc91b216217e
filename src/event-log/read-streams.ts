import { Unavailable } from '../errors.js';
import { Backoff, retry } from '../flow/time.js';
import type { EventLog, RecordedEvent } from './event-log.js';
import { type EventOf, type EventType, parseEvent } from '../events/event.js';
import { streamOf } from '../events/streams.js';

/** How long a log may be unavailable before a long task fails. */
const TIMEOUT_MS = 60_000;
const FIRST_BACK_OFF_MS = 100;
const MAX_BACK_OFF_MS = 2_000;

export interface RetryOptions {
  /** Called with a message for the operator when the log becomes unavailable, and when it is available again. */
  readonly onWait?: ((sentence: string) => void) | undefined;
  /** Stops the retries. */
  readonly stop?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
}

/**
 * Repeats a read of the log while the log is unavailable, for at most 60 s.
 * @throws Unavailable if the log is unavailable for longer; the abort reason of `stop`; any other error of `read`
 */
export const readWithRetries = async <Result>(
  read: () => Promise<Result>,
  { onWait, stop, timeoutMs = TIMEOUT_MS }: RetryOptions = {},
): Promise<Result> => {
  const backoff = new Backoff(FIRST_BACK_OFF_MS, MAX_BACK_OFF_MS);
  const retryUntil = performance.now() + timeoutMs;
  let hasWaited = false;
  const pauseAfter = (error: unknown): number | undefined => {
    if (!(error instanceof Unavailable)) return undefined;
    stop?.throwIfAborted();
    if (!hasWaited) onWait?.(`The log is unavailable (${error.message}); waiting for at most ${timeoutMs / 1_000} s`);
    hasWaited = true;
    return performance.now() > retryUntil ? undefined : backoff.next();
  };
  const result = await retry(read, pauseAfter, stop);
  if (hasWaited) onWait?.('The log is available again; the work continues');
  return result;
};

const PAGE_SIZE = 500;

/** The position in a stream up to which a process that follows the stream has read. */
export interface StreamCursor {
  /** The next revision to read. */
  readonly next: bigint;
  /** The id of the event before `next`; undefined at the start. */
  readonly lastEventId: string | undefined;
}

export const START_OF_STREAM: StreamCursor = { next: 0n, lastEventId: undefined };

/** Events that were read are no longer in the log, because a failover of the log's database lost events. */
export class EventsLost extends Error {}

/**
 * Calls `onEvent` for each event of a stream after `from`, in order.
 * @param what the plural noun for the events in the error message, such as `Key events`
 * @returns the cursor to continue from
 * @throws EventsLost if the event before `from` is no longer in the log
 */
export const followStream = async (
  log: Pick<EventLog, 'readStream'>,
  stream: string,
  what: string,
  from: StreamCursor,
  onEvent: (event: RecordedEvent) => void,
): Promise<StreamCursor> => {
  let { next, lastEventId } = from;
  for (;;) {
    // The page begins with the last known event, so that lost events are detected.
    const overlap = lastEventId === undefined ? 0 : 1;
    const page = await log.readStream(stream, next - BigInt(overlap), PAGE_SIZE);
    if (overlap > 0 && page[0]?.id !== lastEventId)
      throw new EventsLost(`${what} that were read are no longer in the log`);
    for (const event of page.slice(overlap)) {
      next = event.revision + 1n;
      lastEventId = event.id;
      onEvent(event);
    }
    if (page.length < PAGE_SIZE) return { next, lastEventId };
  }
};

const PAGE = 1_000;
const RETRY_AFTER_SECONDS = 5;

/** The part of a stream that is read. */
interface TailOf<Type extends EventType> {
  readonly stream: string;
  /** Events of other types are skipped. */
  readonly types: readonly Type[];
  /** The revision that the read model has reached. */
  readonly after: bigint;
  /** Every request reads the tail, so its length is limited in case events are appended while the projector is down. */
  readonly maxEvents: number;
  /** The plural noun for the items of the read model, for messages to clients, such as `groups`. */
  readonly name: string;
}

/**
 * Reads a stream's events after a revision. Call this function after reading the read model: the read model and the
 * tail together then contain every event that was stored before. Invalid events, which the projector parks, are
 * skipped.
 * @returns the last revision that was read
 * @throws Unavailable if the read model lacks more events than a request may read
 */
export const readTail = async <Type extends EventType>(
  log: EventLog,
  { stream, types, after, maxEvents, name }: TailOf<Type>,
  onEvent: (event: EventOf<Type>, recorded: RecordedEvent) => void,
): Promise<bigint> => {
  const wantedTypes: ReadonlySet<string> = new Set(types);
  let revision = after;
  let page: RecordedEvent[];
  do {
    if (revision - after >= maxEvents)
      throw new Unavailable(`The read model of these ${name} is too far behind; try again`, RETRY_AFTER_SECONDS);
    page = await log.readStream(stream, revision + 1n, PAGE);
    for (const recorded of page) {
      if (!wantedTypes.has(recorded.type)) continue;
      const { event } = parseEvent(recorded.type as Type, recorded.data);
      if (event && streamOf(event) === stream) onEvent(event, recorded);
    }
    revision = page.at(-1)?.revision ?? revision;
  } while (page.length === PAGE);
  return revision;
};

const FIND_PAGE = 500;
/** Maximum events of a stream that are searched. */
const MAX_READ = 10_000;

/** Finds events by their ids among the first 10,000 of a stream. @returns the events that were found, by id */
export const findEvents = async (
  log: EventLog,
  stream: string,
  ids: ReadonlySet<string>,
): Promise<ReadonlyMap<string, RecordedEvent>> => {
  const found = new Map<string, RecordedEvent>();
  let next = 0n;
  while (found.size < ids.size && next < MAX_READ) {
    const page = await log.readStream(stream, next, FIND_PAGE);
    for (const event of page) if (ids.has(event.id)) found.set(event.id, event);
    if (page.length < FIND_PAGE) break;
    next = page.at(-1)!.revision + 1n;
  }
  return found;
};
