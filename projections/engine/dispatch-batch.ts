import type { Batch, RecordedEvent } from '../../src/event-log/event-log.js';
import { forEachYielding } from '../../src/flow/time.js';
import type { Checkpoint, CheckpointMove } from './checkpoints.js';
import { type DecodedEvent, decodeEvent, type Dropped, type FailedEvent, type ProjectionEvents } from './parking.js';
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

/** The decoded events of pages that several lanes of this process share. */
const decodings = new WeakMap<RecordedEvent, DecodedEvent>();

const decodeOnce = (recorded: RecordedEvent): DecodedEvent => {
  const known = decodings.get(recorded);
  if (known !== undefined) return known;
  const decoded = decodeEvent(recorded);
  decodings.set(recorded, decoded);
  return decoded;
};

/**
 * Decodes a batch once, and dispatches its events to the projections. Each projection prepares the events of its types
 * that are after its checkpoint.
 * @param droppedBefore parked events that a projection must not apply, although it may be able to by now
 */
export const dispatchBatch = async (
  projections: readonly Projection[],
  checkpoints: readonly Checkpoint[],
  batch: Pick<Batch, 'events' | 'position'>,
  droppedBefore: Dropped,
): Promise<ProjectionBatch[]> => {
  const positions = new Map(checkpoints.map((checkpoint) => [checkpoint.projection, checkpoint]));
  const decoded: { recorded: RecordedEvent; result: DecodedEvent }[] = [];
  // While a batch is prepared, the previous batch is being written, and its next statement must not wait until the
  // preparation is complete.
  await forEachYielding(batch.events, (recorded) => decoded.push({ recorded, result: decodeOnce(recorded) }));
  const parts = projections.map((projection): ProjectionBatch => {
    const checkpoint = positions.get(projection.name)!;
    const types: ReadonlySet<string> = new Set(projection.types);
    const skipped = droppedBefore.get(projection.name);
    const events: ProjectedEvent[] = [];
    const unreadable: FailedEvent[] = [];
    const dropped: string[] = [];
    let unknownCount = 0;
    for (const { recorded, result } of decoded) {
      if (recorded.position <= checkpoint.position || result.kind === 'erased') continue;
      if (skipped?.has(recorded.id)) continue;
      if (result.kind === 'unknown') unknownCount += 1;
      else if (result.kind === 'unreadable') {
        if (types.has(result.type))
          unreadable.push({ ...recorded, ...recorded.copyOf, reason: result.reason, unreadable: true });
      } else {
        const { event } = result.projected;
        if (types.has(event.type)) events.push(result.projected);
        if (event.type === 'ParkedEventDropped' && event.data.projection === projection.name)
          dropped.push(event.data.eventId);
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
            .map(({ position, recordedAt, copyOf }) => copyOf ?? { position, recordedAt });
    const prepared = projection.prepare(events, recorded);
    return {
      projection,
      move: { checkpoint, to, last, isApplying: events.some(({ isCopy }) => isCopy !== true), unknownCount },
      events,
      recorded,
      prepared,
      unreadable,
      dropped,
    };
  });
  await Promise.allSettled(parts.map(({ prepared }) => prepared));
  return parts;
};
