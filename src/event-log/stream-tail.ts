import { Unavailable } from '../errors.js';
import { type EventOf, type EventType, parseEvent } from '../events/event.js';
import { streamOf } from '../events/streams.js';
import type { EventLog, RecordedEvent } from './event-log.js';

const PAGE = 1_000;
const RETRY_AFTER_SECONDS = 5;

/** The part of a stream that is read. */
export interface TailOf<Type extends EventType> {
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
