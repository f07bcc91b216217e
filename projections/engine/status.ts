import type { Pool } from 'pg';
import type { EventLog } from '../../src/event-log/event-log.js';
import { READ_PROJECTION_CHECKPOINTS } from '../../src/read-models/checkpoints/statements.js';

export interface ProjectionStatus {
  readonly projection: string;
  /** A string: a position may exceed the integers that JSON readers keep exact. */
  readonly position: string;
  readonly head: string;
  readonly lag: string;
  /** The unit of `lag`: on EventStoreDB a position is an offset in a file. */
  readonly lagUnit: 'events' | 'bytes';
  /** Everything acknowledged longer ago than this is in the rows. ms; null if nothing was projected yet. */
  readonly ageMs: number | null;
  readonly parked: number;
  /** Events skipped because of an unknown type. */
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
