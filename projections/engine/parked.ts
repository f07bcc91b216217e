import type { Selectable } from 'kysely';
import type { Pool } from 'pg';
import type { EventLog, RecordedEvent } from '../../src/event-log/event-log.js';
import { newEvent } from '../../src/event-log/new-event.js';
import { disputeStream, OPERATIONS_STREAM } from '../../src/events/streams.js';
import { createReadModels, readModelsOver, type Tables } from '../../src/read-models/tables.js';
import { applyByBisection, unpark, decodeEvent } from './parking.js';
import { type Projection, type ProjectorTransaction, transact } from './projection.js';
import { READ_PROJECTION_CHECKPOINTS } from '../../src/read-models/checkpoints.js';

/** A row of `parked_events`. */
export type Parked = Readonly<Selectable<Tables['parked_events']>>;

/** Lists parked events. @param eventId restricts the list to one event */
export const listParked = (pool: Pool, eventId?: string): Promise<Parked[]> => {
  const parked = createReadModels(pool).selectFrom('parked_events').selectAll();
  // The id is compared as text, because the input of an operator may not be a UUID.
  const selected =
    eventId === undefined ? parked : parked.where((eb) => eb(eb.cast<string>('event_id', 'text'), '=', eventId));
  return selected.orderBy('position').orderBy('projection').execute();
};

/** Statement timeout of a manual retry. The live projector waits until the retry has finished. */
const RETRY_TIMEOUT_MS = 120_000;

/** Events of a stream that a retry reads at most, about one second of reading per 10,000. */
const MAX_LATER_EVENTS = 100_000;
const PAGE_SIZE = 2_000;

/** Thrown to roll a retry back. */
class CannotRetry extends Error {}

/**
 * Returns the redactions of the parked event's record that the projection has applied although the log has them after the
 * event. They have to be applied again, because a redaction concerns what is stored before it.
 * @param upTo the checkpoint of the projection
 */
const laterRedactions = async (log: EventLog, parked: Parked, upTo: bigint): Promise<RecordedEvent[]> => {
  const { organization, disputeId } = parked.data as { readonly organization?: string; readonly disputeId?: string };
  // Disputes are filed in a stream of the organization, and redacted in a stream of their own.
  const isFiled = parked.type === 'DisputeFiled';
  const stream = isFiled ? disputeStream(organization!, disputeId!) : parked.stream;
  const found: RecordedEvent[] = [];
  let from = isFiled ? 0n : BigInt(parked.revision) + 1n;
  for (let read = 0; ; read += PAGE_SIZE) {
    const page = await log.readStream(stream, from, PAGE_SIZE);
    for (const event of page) {
      const { position } = event.copyOf ?? event;
      if (event.type === 'ContentRedacted' && position > BigInt(parked.position) && event.position <= upTo)
        found.push(event);
    }
    const last = page.at(-1);
    if (last === undefined || last.position > upTo) return found;
    if (read >= MAX_LATER_EVENTS)
      throw new CannotRetry(
        `more than ${MAX_LATER_EVENTS} events follow it in the stream ${stream}; a rebuild of the projection applies it`,
      );
    from = last.revision + 1n;
  }
};

/**
 * Retries a parked event. This is possible at any time, because projections do not depend on the order of events, except
 * for redactions, which are applied again if they are later in the log.
 * @returns why the event stays parked; undefined if it was applied
 */
export const retryParked = async (
  { pool, log }: { readonly pool: Pool; readonly log: EventLog },
  projection: Projection,
  { event_id: eventId }: Pick<Parked, 'event_id'>,
): Promise<string | undefined> =>
  transact(
    pool,
    'read',
    async (transaction) => {
      const live = readModelsOver(transaction.connection);
      // The lock of the checkpoint makes the live projector wait.
      const [checkpoint] = await live
        .selectFrom('checkpoints')
        .select('position')
        .where('projection', '=', projection.name)
        .forUpdate()
        .execute();
      // The event may have been applied, dropped, erased or redacted since it was listed.
      const [parked] = await live
        .selectFrom('parked_events')
        .selectAll()
        .where('projection', '=', projection.name)
        .where('event_id', '=', eventId)
        .execute();
      if (parked === undefined) return 'it is no longer parked';
      const result = decodeEvent({
        ...parked,
        id: parked.event_id,
        position: BigInt(parked.position),
        revision: BigInt(parked.revision),
        recordedAt: parked.recorded_at ?? parked.parked_at,
      });
      let reason: string | undefined;
      if (result.kind === 'read') {
        const { projected } = result;
        const recorded = projection.clock === undefined ? [] : [projected];
        const [failed] = await applyByBisection(transaction, { projection, events: [projected], recorded });
        reason = failed?.reason;
        if (reason === undefined && projection.types.includes('ContentRedacted'))
          await applyAgain(
            transaction,
            projection,
            await laterRedactions(log, parked, BigInt(checkpoint?.position ?? -1)),
          );
      } else {
        reason = result.kind === 'unreadable' ? result.reason : `the type ${parked.type} is unknown`;
      }
      if (reason === undefined) await unpark(transaction, projection.name, [eventId]);
      else
        await live
          .updateTable('parked_events')
          .set(({ eb }) => ({ attempts: eb('attempts', '+', 1), reason, unreadable: result.kind !== 'read' }))
          .where('projection', '=', projection.name)
          .where('event_id', '=', eventId)
          .execute();
      return reason;
    },
    { statementMs: RETRY_TIMEOUT_MS },
  ).catch((error: unknown) => {
    if (error instanceof CannotRetry) return error.message;
    throw error;
  });

/** Applies redactions again, without those that are still parked. */
const applyAgain = async (
  transaction: ProjectorTransaction,
  projection: Projection,
  redactions: readonly RecordedEvent[],
): Promise<void> => {
  if (redactions.length === 0) return;
  const [{ stream }] = redactions as [RecordedEvent];
  const parked = await readModelsOver(transaction.connection)
    .selectFrom('parked_events')
    .select('event_id')
    .where('projection', '=', projection.name)
    .where('stream', '=', stream)
    .where('type', '=', 'ContentRedacted')
    .execute();
  const isParked = new Set(parked.map(({ event_id: id }) => id));
  const events = redactions.flatMap((event) => {
    const result = decodeEvent(event);
    return result.kind === 'read' && !isParked.has(event.id) ? [result.projected] : [];
  });
  const recorded = projection.clock === undefined ? [] : events;
  const [failed] = await applyByBisection(transaction, { projection, events, recorded });
  if (failed) throw new CannotRetry(`the later redaction ${failed.id} cannot be applied: ${failed.reason}`);
};

/**
 * Records in the log that parked events are dropped. The projector then removes these events from the parked events,
 * and a rebuild skips them.
 */
export const dropParked = async (log: EventLog, parked: readonly Parked[], reason: string): Promise<void> => {
  const createdAt = Date.now();
  const events = parked.map(({ projection, event_id: eventId }) =>
    newEvent({ type: 'ParkedEventDropped', data: { projection, eventId, reason, createdAt } }),
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
