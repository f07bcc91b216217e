import { Injectable, Optional } from '@nestjs/common';
import { EventLog } from '../event-log/event-log.js';
import { WatchPool } from '../read-models/pools.js';
import { READ_PROJECTION_CHECKPOINTS } from '../read-models/checkpoints/statements.js';

/** The progress of one projection. */
export interface ProjectionLag {
  readonly projection: string;
  readonly position: number;
  /** Distance between the projection and the head of the log, in `unit`. */
  readonly lag: number;
  readonly unit: 'events' | 'bytes';
  /** Every event acknowledged longer ago than this has been applied or parked. */
  readonly lagSeconds: number;
  /** Number of events that the projection could not apply and that wait for an operator. */
  readonly parked: number;
  /**
   * Whether the rows are of an earlier version of the projection and wait for a rebuild. Undefined in a process that does
   * not know the versions.
   */
  readonly isOutdated: boolean | undefined;
}

/** Reads the progress of all projections, for health checks and metrics. */
@Injectable()
export class ProjectionLags {
  constructor(
    private readonly log: EventLog,
    private readonly pool: WatchPool,
    /** The current version of each projection; undefined in a process that does not know the versions. */
    @Optional() private readonly versions?: ReadonlyMap<string, number>,
  ) {}

  async read(): Promise<ProjectionLag[]> {
    // The head is read first, but a projection may advance in between, so the lag is at least 0.
    const head = Number(await this.log.forSubscriptions.head());
    const rows = await READ_PROJECTION_CHECKPOINTS.run(this.pool, {});
    return rows.map(({ projection, position, age, parked, version }) => ({
      projection,
      position,
      lag: Math.max(0, head - position),
      unit: this.log.positionUnit,
      lagSeconds: age / 1000,
      parked,
      isOutdated: this.versions && version < (this.versions.get(projection) ?? version),
    }));
  }
}
