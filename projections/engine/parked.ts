import type { Selectable } from 'kysely';
import type { Pool } from 'pg';
import { BEGINNING, type EventLog, type RecordedEvent, WrongExpectedRevision } from '../../src/event-log/event-log.js';
import { newEvent, requireValid } from '../../src/event-log/new-event.js';
import { Conflict } from '../../src/errors.js';
import { disputeStream, OPERATIONS_STREAM } from '../../src/events/streams.js';
import type { EventOf } from '../../src/events/event.js';
import { redactData } from '../../src/events/redacted.js';
import { hashOf } from '../../src/events/stored-key.js';
import { createReadModels, type Tables } from '../../src/read-models/tables.js';
import { followDecisions } from './decisions.js';
import { decodeEvent } from './parking.js';
import type { ProjectedEvent } from './projection.js';
import { ALL_PROJECTIONS, READ_PROJECTION_CHECKPOINTS } from '../../src/read-models/checkpoints.js';

/** A row of `parked_events`. */
export type Parked = Readonly<Selectable<Tables['parked_events']>> & {
  /** The position of the projection's checkpoint when the row was read; null if there is no checkpoint. */
  readonly reached: number | null;
};

/** Lists parked events. @param eventId restricts the list to one event */
export const listParked = (pool: Pool, eventId?: string): Promise<Parked[]> => {
  const parked = createReadModels(pool)
    .selectFrom('parked_events')
    .leftJoin('checkpoints', 'checkpoints.projection', 'parked_events.projection')
    .selectAll('parked_events')
    .select('checkpoints.position as reached')
    .where('parked_events.projection', 'in', ALL_PROJECTIONS);
  // The id is compared as text, because the input of an operator may not be a UUID.
  const selected =
    eventId === undefined ? parked : parked.where((eb) => eb(eb.cast<string>('event_id', 'text'), '=', eventId));
  return selected.orderBy('parked_events.position').orderBy('parked_events.projection').execute();
};

/** Events that may follow a retried event in its stream, about one second of reading per 10,000. */
const MAX_LATER_EVENTS = 100_000;
const PAGE_SIZE = 2_000;
/** The digits of an id that readers keep of the event at their position. */
const MARK_LENGTH = 8;

/**
 * Reads a retried event as it is applied: at the place of its retry, without a content that was redacted since. A retry is
 * possible at any time, because projections do not depend on the order of events, except for redactions, which concern
 * what is stored before them.
 * @param onPage called before each page of the stream is read
 * @returns undefined if the log no longer has the event; `issue` says why the event has to stay parked
 */
export const readRetried = async (
  log: EventLog,
  { event: { data }, position, recordedAt }: ProjectedEvent<EventOf<'ParkedEventRetried'>>,
  onPage: () => void = () => {},
): Promise<{ readonly recorded: RecordedEvent; readonly issue?: string } | undefined> => {
  let found: RecordedEvent | undefined;
  const redactions: unknown[] = [];
  /** @returns whether the stream has too many events to look at */
  const search = async (stream: string, first: bigint): Promise<boolean> => {
    let from = first;
    for (let read = 0; read < MAX_LATER_EVENTS; read += PAGE_SIZE) {
      onPage();
      const page = await log.readStream(stream, from, PAGE_SIZE);
      for (const event of page) {
        // The last copy has the fewest contents. The store may have forgotten the original.
        if (event.id === data.eventId) found = event;
        if (event.type === 'ContentRedacted') redactions.push(event.data);
      }
      if (page.length < PAGE_SIZE) return false;
      from = page.at(-1)!.revision + 1n;
    }
    return true;
  };
  const isTooLong = await search(data.stream, BigInt(data.revision));
  if (found === undefined) return undefined;
  // Disputes are filed in a stream of the organization, and redacted in a stream of their own.
  const { organization, disputeId } = found.data as { readonly organization?: string; readonly disputeId?: string };
  if (found.type === 'DisputeFiled') await search(disputeStream(organization!, disputeId!), 0n);
  const { copyOf: _, ...original } = found;
  const recorded = { ...original, data: withoutRedacted(found, redactions), position, recordedAt };
  if (!isTooLong) return { recorded };
  return { recorded, issue: `more than ${MAX_LATER_EVENTS} events follow it in the stream ${data.stream}` };
};

/** Returns the data of an event without its content if one of these redactions concerns it. */
const withoutRedacted = (recorded: RecordedEvent, redactions: readonly unknown[]): unknown => {
  if (redactions.length === 0) return recorded.data;
  const result = decodeEvent(recorded);
  if (result.kind !== 'read' || !('asset' in result.projected.event.data)) return recorded.data;
  const hash = hashOf(result.projected as Parameters<typeof hashOf>[0]);
  const isRedacted = redactions.some((redaction) => (redaction as { readonly assetHash?: unknown }).assetHash === hash);
  return isRedacted ? redactData(recorded.data as Readonly<Record<string, unknown>>) : recorded.data;
};

const keyOf = (projection: string, eventId: string): string => `${projection} ${eventId}`;

/** How many retries are stored at once, some 500 bytes each. EventStoreDB takes 1 MiB. */
const RETRIES_AT_ONCE = 1_000;
const MAX_ATTEMPTS = 5;

/** Retries as `retryParked`. @throws WrongExpectedRevision if others write to the stream meanwhile */
const appendRetries = async (log: EventLog, parked: readonly Parked[]): Promise<bigint> => {
  const lastRetries = new Map<string, bigint>();
  const decisions = await followDecisions(log, ({ type, data: { projection, eventId } }, position) => {
    if (type === 'ParkedEventRetried') lastRetries.set(keyOf(projection, eventId), position);
  });
  const lastRetryOf = ({ projection, event_id: eventId }: Parked): bigint =>
    lastRetries.get(keyOf(projection, eventId)) ?? BEGINNING;
  const createdAt = Date.now();
  const events = parked
    .filter((row) => lastRetryOf(row) <= BigInt(row.reached ?? BEGINNING))
    .map(({ projection, event_id: eventId, stream, revision }) => {
      const retried = newEvent({
        type: 'ParkedEventRetried',
        data: { projection, eventId, stream, revision, createdAt },
      });
      // Readers keep the beginning of the id of the event at their position, and know the record by its own event.
      return { ...retried, id: eventId.slice(0, MARK_LENGTH) + retried.id.slice(MARK_LENGTH) };
    });
  let last = parked.map(lastRetryOf).reduce((one, other) => (other > one ? other : one));
  let { next } = decisions;
  for (let at = 0; at < events.length; at += RETRIES_AT_ONCE) {
    const slice = events.slice(at, at + RETRIES_AT_ONCE);
    last = (await log.append(OPERATIONS_STREAM, next === 0n ? 'no-stream' : next - 1n, slice)).position;
    next += BigInt(slice.length);
  }
  return last;
};

/**
 * Records in the log that parked events are retried. The projector then applies each event at the position of its retry.
 * An event whose last retry is after the checkpoint is not retried again: the projector may be applying it already, and a
 * rebuild would apply it at the later retry.
 * @returns the position of the last retry; undefined if there are no events
 * @throws Conflict if other programs retried or dropped parked events during each of five attempts
 */
export const retryParked = async (log: EventLog, parked: readonly Parked[]): Promise<bigint | undefined> => {
  if (parked.length === 0) return undefined;
  for (let attempt = 1; ; attempt += 1)
    try {
      return await appendRetries(log, parked);
    } catch (error) {
      // Another program may have retried the same events since the stream was read.
      if (!(error instanceof WrongExpectedRevision)) throw error;
      if (attempt === MAX_ATTEMPTS) throw new Conflict('Parked events are being changed concurrently; try again');
    }
};

/**
 * Records in the log that parked events are dropped. The projector then removes these events from the parked events,
 * and a rebuild skips them.
 * @throws Invalid if the reason is too long
 */
export const dropParked = async (log: EventLog, parked: readonly Parked[], reason: string): Promise<void> => {
  const createdAt = Date.now();
  const events = parked.map(({ projection, event_id: eventId }) =>
    newEvent(requireValid({ type: 'ParkedEventDropped', data: { projection, eventId, reason, createdAt } })),
  );
  if (events.length > 0) await log.append(OPERATIONS_STREAM, 'any', events);
};

interface ProjectionStatus {
  readonly projection: string;
  /** The position is a string, because it may exceed the safe integers of JSON parsers. */
  readonly position: string;
  readonly head: string;
  readonly lag: string;
  /** The unit of `lag`. Positions of EventStoreDB are byte offsets. */
  readonly lagUnit: 'events' | 'bytes';
  /**
   * Age of the rows in ms: the rows include everything that was acknowledged at least that long ago. Null if no event
   * has been projected yet.
   */
  readonly ageMs: number | null;
  readonly parked: number;
  /** Number of events that were skipped because their type is unknown. */
  readonly unknown: number;
}

/** The progress of each projection. */
export const projectionStatus = async (pool: Pool, log: EventLog): Promise<ProjectionStatus[]> => {
  const head = await log.head();
  const rows = await READ_PROJECTION_CHECKPOINTS.run(pool, {});
  return rows.map(({ projection, position, as_of, age, parked, unknown }) => ({
    projection,
    position: String(position),
    head: String(head),
    lag: String(head > BigInt(position) ? head - BigInt(position) : 0n),
    lagUnit: log.positionUnit,
    ageMs: as_of === 0 ? null : age,
    parked,
    unknown,
  }));
};
