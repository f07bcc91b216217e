import { Injectable } from '@nestjs/common';
import { EventLog } from '../event-log/event-log.js';
import { WatchPool } from '../read-models/pools.js';
import { READ_PROJECTION_CHECKPOINTS } from '../read-models/checkpoints/statements.js';

/** How far one projection has come. */
export interface ProjectionLag {
  readonly projection: string;
  readonly position: number;
  /** Positions between it and the head; `unit` says of what. */
  readonly lag: number;
  readonly unit: 'events' | 'bytes';
  /** Everything acknowledged longer ago than this is in its rows. Seconds. */
  readonly lagSeconds: number;
  /** Events it could not apply, waiting for an operator. */
  readonly parked: number;
}

/** For health and Prometheus. */
@Injectable()
export class ProjectionLags {
  constructor(
    private readonly log: EventLog,
    private readonly pool: WatchPool,
  ) {}

  async read(): Promise<ProjectionLag[]> {
    // The head first: a projection that moves in between must not seem ahead of it.
    const head = Number(await this.log.forFollowers.head());
    const rows = await READ_PROJECTION_CHECKPOINTS.run(this.pool, {});
    return rows.map(({ projection, position, age, parked }) => ({
      projection,
      position,
      lag: Math.max(0, head - position),
      unit: this.log.positionUnit,
      lagSeconds: age / 1000,
      parked,
    }));
  }
}
