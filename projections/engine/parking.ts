import type { PoolClient } from 'pg';
import { eventIdOf, issueOfId, legacyEventIdOf, ERASED_TYPE, isStreamOf, streamOf } from '../../src/events/streams.js';
import type { RecordedEvent } from '../../src/event-log/event-log.js';
import { type EventType, isKnownType, isUpstream, parseEvent, toJson } from '../../src/events/event.js';
import type { ProjectedEvent, Projection, Recorded, Write, ProjectorTransaction } from './projection.js';
import { writeJson } from '../../src/events/stored-json.js';
import { ID, SLUG } from '../../src/events/declaring/fields.js';
import { isDataError, isTransient } from '../../src/postgres/transient-errors.js';
import { readModelsOver } from '../../src/read-models/tables.js';
import { PARK } from './checkpoints.js';
import { ApplyError, type PoisonEventIsolation } from './poison-events.js';

export type DecodedEvent =
  | { readonly kind: 'read'; readonly projected: ProjectedEvent }
  /** The content of the event was erased, so that no projection applies the event. */
  | { readonly kind: 'erased' }
  /** This version does not know the type of the event. */
  | { readonly kind: 'unknown' }
  /** The type is known, but the event is invalid. */
  | { readonly kind: 'unreadable'; readonly type: EventType; readonly reason: string };

/**
 * Returns why the ingestion endpoint cannot have stored an upstream event. The check uses the actual stream of the
 * event: a library update may change the hash of an asset, while the id contains the old hash.
 */
const upstreamIssue = ({ id, type, stream, metadata }: RecordedEvent): string | undefined => {
  const { source, id: sourceId, time } = (metadata ?? {}) as Record<string, unknown>;
  if (typeof source !== 'string' || typeof sourceId !== 'string' || typeof time !== 'string')
    return 'metadata must be { source, id, time }, all strings';
  const expected = eventIdOf(source, sourceId, type, stream);
  const issue = issueOfId(source) ?? issueOfId(sourceId);
  if (id === expected && issue === undefined) return undefined;
  // Before version 2.1, type and stream were not part of the id. Existing events keep their ids, because checkpoints
  // and the order of equal versions depend on them. The endpoint does not create such ids any more, so no organization
  // can use an event id of another organization.
  if (id === legacyEventIdOf(source, sourceId)) return undefined;
  return issue === undefined
    ? `the event id must be ${expected}, the UUIDv5 of its source, id, type and stream`
    : `metadata.${issueOfId(source) === undefined ? 'id' : 'source'} ${issue}`;
};

/** Decodes a recorded event, and checks that the ingestion endpoint could have stored the event. */
export const decodeEvent = (recorded: RecordedEvent): DecodedEvent => {
  const { type } = recorded;
  if (type === ERASED_TYPE) return { kind: 'erased' };
  if (!isKnownType(type)) return { kind: 'unknown' };
  const { event, issues } = parseEvent(type, recorded.data);
  if (!event) return { kind: 'unreadable', type, reason: issues.join('; ') };
  if (!isStreamOf(recorded.stream, event))
    return { kind: 'unreadable', type, reason: `the stream must be ${streamOf(event)}` };
  const issue = isUpstream(event) ? upstreamIssue(recorded) : undefined;
  if (issue !== undefined) return { kind: 'unreadable', type, reason: issue };
  const { id, stream, revision, metadata } = recorded;
  const { position, recordedAt } = recorded.copyOf ?? recorded;
  const isCopy = recorded.copyOf !== undefined;
  return { kind: 'read', projected: { event, id, position, stream, revision, isCopy, metadata, recordedAt } };
};

/** An event that a projection could not apply, and the reason. */
export interface FailedEvent {
  readonly id: string;
  readonly position: bigint;
  readonly stream: string;
  readonly revision: bigint;
  readonly type: string;
  readonly data: unknown;
  readonly metadata: unknown;
  readonly recordedAt: number;
  readonly reason: string;
  /** Whether the event is invalid, so that its sender may see the reason. */
  readonly unreadable: boolean;
}

/** Returns the value of a property if the value is a string that matches the pattern. */
const textIn = (json: unknown, name: string, pattern: RegExp): string | undefined => {
  const value = (json as Record<string, unknown> | null | undefined)?.[name];
  return typeof value === 'string' && pattern.test(value) ? value : undefined;
};

/** Parks events. An event that is already parked is left unchanged. JSON that cannot be written is stored as null. */
const park = async (connection: PoolClient, projection: string, failed: readonly FailedEvent[]): Promise<void> => {
  const rows = failed.map((event) => ({
    ...event,
    data: writeJson(event.data) ?? 'null',
    metadata: writeJson(event.metadata) ?? 'null',
    organization: textIn(event.data, 'organization', SLUG),
    keyId: textIn(event.metadata, 'keyId', ID),
  }));
  await PARK.runEach(connection, rows, { projection });
};

/** Removes parked events that have been applied, or that an operator has dropped. */
const unpark = async (
  { connection }: ProjectorTransaction,
  projection: string,
  eventIds: readonly string[],
): Promise<void> => {
  if (eventIds.length === 0) return;
  await readModelsOver(connection)
    .deleteFrom('parked_events')
    .where('projection', '=', projection)
    .where('event_id', 'in', eventIds)
    .execute();
};

/** Counts a retry that failed. */
const countAttempt = async (
  { connection }: ProjectorTransaction,
  projection: string,
  eventId: string,
  { reason, unreadable }: Pick<FailedEvent, 'reason' | 'unreadable'>,
): Promise<void> => {
  await readModelsOver(connection)
    .updateTable('parked_events')
    .set(({ eb }) => ({ attempts: eb('attempts', '+', 1), reason, unreadable }))
    .where('projection', '=', projection)
    .where('event_id', '=', eventId)
    .execute();
};

const failedEvent = (event: ProjectedEvent, reason: string): FailedEvent => {
  const { type } = event.event;
  return { ...event, type, data: toJson(event.event), reason, unreadable: false };
};

/**
 * Checks that the tables of a projection can be written, and locks them until the transaction ends. If a later
 * statement of the transaction fails, the tables are not the cause.
 * @throws the error of the database if a table cannot be written
 */
const probeTables = async ({ connection }: ProjectorTransaction, { tables }: Projection): Promise<void> => {
  for (const table of tables) await connection.query(`delete from "${table}" where false`);
};

/**
 * Whether an event caused the error. Only such an event may be parked. An error without SQLSTATE is thrown by the
 * projection itself, because of an event.
 */
export const isEventError = (error: unknown): error is Error => {
  if (!(error instanceof Error) || isTransient(error)) return false;
  return (error as { code?: string }).code === undefined || isDataError(error);
};

/** The events of a batch for one projection. */
export interface ProjectionEvents {
  readonly projection: Projection;
  readonly events: readonly ProjectedEvent[];
  /** Where and when the log stored all events of the batch, for a projection with a clock; otherwise empty. */
  readonly recorded: readonly Recorded[];
  readonly unreadable: readonly FailedEvent[];
  /** Ids of parked events that an operator has dropped. */
  readonly dropped: readonly string[];
  /**
   * The parked events that an operator has retried, by id. They are among `events`, unless they were erased, or there is a
   * reason why they stay parked.
   */
  readonly retried: ReadonlyMap<string, { readonly reason: string; readonly unreadable: boolean } | undefined>;
}

/** Records where and when the log stored events that are not applied. */
const recordPlaces = async (
  transaction: ProjectorTransaction,
  { projection, recorded }: Pick<ProjectionEvents, 'projection' | 'recorded'>,
): Promise<void> => {
  if (recorded.length > 0) await (await projection.prepare([], recorded))(transaction);
};

/**
 * Applies the events for one projection, and parks events that cannot be applied.
 * @param apply applies the events and returns those that failed
 * @returns the parked events
 * @throws ApplyError if the events cannot be applied now; a retry may succeed
 */
export const applyOrPark = async (
  transaction: ProjectorTransaction,
  { projection, events, recorded, unreadable, dropped, retried }: ProjectionEvents,
  isolation: PoisonEventIsolation,
  apply: () => Promise<readonly FailedEvent[]>,
): Promise<FailedEvent[]> => {
  const failed = [...unreadable];
  const suspect = isolation.suspectIn(projection.name, events);
  if (suspect) await probeTables(transaction, projection);
  if (suspect?.reason !== undefined) {
    failed.push(failedEvent(events[0]!, suspect.reason));
    await recordPlaces(transaction, { projection, recorded });
  } else if (events.length + recorded.length > 0)
    failed.push(
      ...(await apply().catch((error: unknown) => {
        throw new ApplyError(projection.name, events, error);
      })),
    );
  const failures = new Map<string, Pick<FailedEvent, 'reason' | 'unreadable'> | undefined>(retried);
  for (const event of failed.slice(unreadable.length)) if (retried.has(event.id)) failures.set(event.id, event);
  const parked = failed.filter((event, index) => index < unreadable.length || !retried.has(event.id));
  await park(transaction.connection, projection.name, parked);
  const applied = [...retried.keys()].filter((id) => failures.get(id) === undefined);
  await unpark(transaction, projection.name, [...dropped, ...applied]);
  for (const [id, failure] of failures) if (failure) await countAttempt(transaction, projection.name, id, failure);
  return parked;
};

/**
 * Applies the events for one projection. If an event cannot be applied, bisects the events until every such event is
 * isolated.
 * @param prepared the prepared events, if they have been prepared before
 * @returns the events that cannot be applied; all other events have been applied
 * @throws errors that the events did not cause
 */
export const applyByBisection = async (
  transaction: ProjectorTransaction,
  { projection, events, recorded }: Pick<ProjectionEvents, 'projection' | 'events' | 'recorded'>,
  prepared?: Promise<Write>,
): Promise<FailedEvent[]> => {
  const { connection } = transaction;
  await connection.query('savepoint half');
  try {
    const write = await (prepared ?? projection.prepare(events, recorded));
    await write(transaction);
    await connection.query('release savepoint half');
    return [];
  } catch (error) {
    if (!isEventError(error)) throw error;
    await connection.query('rollback to savepoint half; release savepoint half');
    const [event] = events;
    if (events.length === 1 && event) {
      await recordPlaces(transaction, { projection, recorded });
      return [failedEvent(event, error.message)];
    }
    const middle = events.length >> 1;
    const cut = recorded.findIndex(({ position }) => position === events[middle]!.position);
    const halves = [
      { projection, events: events.slice(0, middle), recorded: recorded.slice(0, cut) },
      { projection, events: events.slice(middle), recorded: recorded.slice(cut) },
    ];
    const failed: FailedEvent[] = [];
    for (const half of halves) failed.push(...(await applyByBisection(transaction, half)));
    return failed;
  }
};
