import type { Batch, RecordedEvent } from '../../src/event-log/event-log.js';
import { forEachYielding } from '../../src/flow/time.js';
import type { Checkpoint, CheckpointMove } from './checkpoints.js';
import type { Decisions } from './decisions.js';
import { type DecodedEvent, decodeEvent, type FailedEvent, type ProjectionEvents } from './parking.js';
import type { EventOf } from '../../src/events/event.js';
import type { TimeOf } from './bounded-times.js';
import type { ProjectedEvent, Projection, Write } from './projection.js';

/** The events of a batch for one projection, and the move of its checkpoint. */
export interface ProjectionBatch extends ProjectionEvents {
  readonly move: CheckpointMove;
  /**
   * Prepares the rows. The transaction that writes the batch handles a rejection, because that transaction can park the
   * event.
   */
  readonly prepared: Promise<Write>;
}

const withTime = (decoded: DecodedEvent, timeOf: TimeOf): DecodedEvent => {
  if (decoded.kind !== 'read') return decoded;
  const recordedAt = timeOf(decoded.projected);
  return recordedAt === decoded.projected.recordedAt
    ? decoded
    : { ...decoded, projected: { ...decoded.projected, recordedAt } };
};

type Retry = ProjectedEvent<EventOf<'ParkedEventRetried'>>;
const isRetry = (projected: ProjectedEvent): projected is Retry => projected.event.type === 'ParkedEventRetried';

/** Reads a retried event, as `readRetried` in `parked.ts` does. */
type ReadRetried = (retry: Retry) => Promise<{ readonly recorded: RecordedEvent; readonly issue?: string } | undefined>;

interface DatedBatch extends Pick<Batch, 'events' | 'position'> {
  /** When each event was stored, as `boundTimes` returns it. */
  readonly timeOf: TimeOf;
}

const WAITS = 'The event is applied at the position of its retry';

/**
 * Decodes a batch once, and dispatches its events to the projections. Each projection prepares the events of its types
 * that are after its checkpoint.
 * @param decisions what is decided about events that are parked, or were parked before the log was read again
 */
export const dispatchBatch = async (
  projections: readonly Projection[],
  checkpoints: readonly Checkpoint[],
  batch: DatedBatch,
  decisions: Decisions,
  readRetried: ReadRetried,
): Promise<ProjectionBatch[]> => {
  const positions = new Map(checkpoints.map((checkpoint) => [checkpoint.projection, checkpoint]));
  const decoded: { recorded: RecordedEvent; result: DecodedEvent }[] = [];
  // While a batch is prepared, the previous batch is being written, and its next statement must not wait until the
  // preparation is complete.
  await forEachYielding(batch.events, (recorded) =>
    decoded.push({ recorded, result: withTime(decodeEvent(recorded), batch.timeOf) }),
  );
  const found = new Map<string, Awaited<ReturnType<ReadRetried>>>();
  for (const { result } of decoded)
    if (result.kind === 'read' && isRetry(result.projected) && positions.has(result.projected.event.data.projection))
      found.set(result.projected.id, await readRetried(result.projected));
  const parts = projections.map((projection): ProjectionBatch => {
    const checkpoint = positions.get(projection.name)!;
    const types: ReadonlySet<string> = new Set(projection.types);
    const decided = decisions.of(projection.name);
    const events: ProjectedEvent[] = [];
    const unreadable: FailedEvent[] = [];
    const dropped: string[] = [];
    const retried = new Map<string, { reason: string; unreadable: boolean } | undefined>();
    let unknownCount = 0;
    const park = (recorded: RecordedEvent, reason: string, isUnreadable: boolean): void =>
      void unreadable.push({ ...recorded, ...recorded.copyOf, reason, unreadable: isUnreadable });
    const retry = ({ id, position, event: { data } }: Retry): void => {
      const { eventId } = data;
      // An earlier retry does not count, and none after the event was dropped.
      const isSuperseded = position < (decided.notBefore.get(eventId) ?? position) || decided.dropped.has(eventId);
      if (data.projection !== projection.name || isSuperseded) return;
      decided.notBefore.set(eventId, position);
      const original = found.get(id);
      const result = original && decodeEvent(original.recorded);
      if (original?.issue !== undefined) retried.set(eventId, { reason: original.issue, unreadable: false });
      else if (result?.kind === 'unreadable') retried.set(eventId, { reason: result.reason, unreadable: true });
      else if (result?.kind === 'unknown')
        retried.set(eventId, { reason: `the type ${original!.recorded.type} is unknown`, unreadable: true });
      else {
        // An event that is retried twice is applied once.
        if (result?.kind === 'read' && !retried.has(eventId)) events.push(result.projected);
        retried.set(eventId, undefined);
      }
    };
    for (const { recorded, result } of decoded) {
      if (recorded.position <= checkpoint.position || result.kind === 'erased') continue;
      if (decided.dropped.has(recorded.id)) continue;
      const notBefore = decided.notBefore.get(recorded.id);
      const isRetried = notBefore !== undefined && notBefore <= recorded.position;
      // The copy of an event that was applied at the position of its retry would apply it at its own position.
      if (isRetried && recorded.copyOf !== undefined) continue;
      if (result.kind === 'unknown') unknownCount += 1;
      else if (result.kind === 'unreadable') {
        if (types.has(result.type)) park(recorded, result.reason, true);
      } else {
        const { projected } = result;
        const { event } = projected;
        const isWaiting = notBefore !== undefined && !isRetried;
        if (types.has(event.type) && isWaiting) park(recorded, WAITS, false);
        else if (types.has(event.type)) events.push(projected);
        if (event.type === 'ParkedEventDropped' && event.data.projection === projection.name) {
          dropped.push(event.data.eventId);
          decided.dropped.add(event.data.eventId);
        }
        if (isRetry(projected)) retry(projected);
      }
    }
    const to = batch.position > checkpoint.position ? batch.position : checkpoint.position;
    const newest = batch.events.at(-1);
    const last = newest && newest.position > checkpoint.position ? newest : undefined;
    const recorded =
      projection.clock === undefined
        ? []
        : batch.events
            .filter(({ position }) => position > checkpoint.position)
            .map(({ position, recordedAt, copyOf }) => copyOf ?? { position, recordedAt })
            .map((original) => ({ position: original.position, recordedAt: batch.timeOf(original) }));
    const prepared = projection.prepare(events, recorded);
    return {
      projection,
      move: { checkpoint, to, last, isApplying: events.some(({ isCopy }) => isCopy !== true), unknownCount },
      events,
      recorded,
      prepared,
      unreadable,
      dropped,
      retried,
    };
  });
  await Promise.allSettled(parts.map(({ prepared }) => prepared));
  return parts;
};
