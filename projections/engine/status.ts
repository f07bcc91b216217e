import type { Pool } from 'pg';
import type { EventLog } from '../../src/event-log/event-log.js';
import { readProjectionCheckpoints } from '../../src/read-models/projection-checkpoints.js';

export interface ProjectionStatus {
  readonly projection: string;
  /** Decimal text: a position may be greater than a JSON number holds. */
  readonly position: string;
  readonly head: string;
  readonly lag: string;
  /** What `lag` counts: on EventStoreDB a position is a place in a file. */
  readonly lagUnit: 'events' | 'bytes';
  /** How long ago everything answered at the door was in the rows. ms; null where nothing was projected yet. */
  readonly ageMs: number | null;
  readonly parked: number;
  /** Events of unknown types that were passed over. */
  readonly unknown: number;
}

/** How far each projection is. */
export const projectionStatus = async (pool: Pool, log: EventLog): Promise<ProjectionStatus[]> => {
  const head = await log.head();
  const rows = await readProjectionCheckpoints(pool, {});
  return rows.map(({ projection, position, as_of, parked, unknown }) => ({
    projection,
    position: String(position),
    head: String(head),
    lag: String(head > BigInt(position) ? head - BigInt(position) : 0n),
    lagUnit: log.positionUnit,
    ageMs: as_of === 0 ? null : Math.max(0, Date.now() - as_of),
    parked,
    unknown,
  }));
};
