import type { Pool } from 'pg';
import type { EventLog } from '../../src/event-log/event-log.js';
import { READ_PROJECTION_CHECKPOINTS } from '../../src/read-models/checkpoints/statements.js';

export interface ProjectionStatus {
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
