import { Injectable, Optional } from '@nestjs/common';
import { CLOCK, statement, type Connection, type RowOf } from '../postgres/statement.js';
import { type Clock, monotonic, SharedPoll } from '../flow/time.js';
import { coalesce } from '../flow/shared-work.js';
import { READ_IS_LEASED } from './lease.js';
import { CheckpointPool } from './pools.js';
import { TIME_LIMIT_MS } from './request-concurrency.js';

/** The names of all projections in `projections/registry.ts`. */
export const ALL_PROJECTIONS = [
  'asset-groups',
  'asset-statuses',
  'brands-and-flags',
  'metrics',
  'register',
  'takedowns',
  'webhooks',
] as const;
export type ProjectionName = (typeof ALL_PROJECTIONS)[number];

/**
 * SQL for the condition that a checkpoint or a parked event is of a projection of this version. Those of version 2.2 stay
 * for its processes.
 */
export const IS_OF_THIS_VERSION = `projection in (${ALL_PROJECTIONS.map((name) => `'${name}'`).join(', ')})`;

/**
 * The checkpoint of each projection. The rows that the projection has written include everything that was acknowledged
 * before `asOf` (ms, by the database's clock).
 */
export const READ_CHECKPOINTS = statement(
  'checkpoints-read',
  {},
  { projection: 'text', position: 'bigint', asOf: 'bigint' },
  `select projection, position, as_of as "asOf" from read.checkpoints where ${IS_OF_THIS_VERSION}`,
);

/** Parked events of a projection are counted up to this number. */
const MAX_COUNTED_PARKED = 10_000;

/**
 * The checkpoint of each projection and its number of parked events, at most 10,000. `age` is the age of the projection's rows in
 * milliseconds by the database's clock: the rows include everything that was acknowledged longer ago.
 */
export const READ_PROJECTION_CHECKPOINTS = statement(
  'projection-checkpoints',
  {},
  {
    projection: 'text',
    position: 'bigint',
    as_of: 'bigint',
    age: 'bigint',
    unknown: 'bigint',
    version: 'integer',
    parked: 'bigint',
  },
  `
    select projection, position, as_of, greatest(0, ${CLOCK} - as_of) as age, unknown, version,
      (
        select count(*) from (
          select from read.parked_events p where p.projection = c.projection limit ${MAX_COUNTED_PARKED}
        ) counted
      ) as parked
    from read.checkpoints c where ${IS_OF_THIS_VERSION}
    order by projection`,
);

const MIN_POLL_INTERVAL_MS = 10;
const RETRY_DELAY_MS = 100;

/** The checkpoint of one projection. */
type CheckpointRow = RowOf<typeof READ_CHECKPOINTS>;
export type CheckpointRows = ReadonlyMap<string, CheckpointRow>;

/** Whether all of these projections have reached a position of the log. */
export const hasReached = (rows: CheckpointRows, projections: readonly ProjectionName[], position: bigint): boolean =>
  projections.every((name) => BigInt(rows.get(name)?.position ?? -1) >= position);

/** Reads the checkpoints of all projections, with a timeout for the database. */
export const readCheckpoints = async (connection: Connection, timeoutMs: number): Promise<CheckpointRows> => {
  const rows = await READ_CHECKPOINTS.run(connection, {}, timeoutMs);
  return new Map(rows.map((row) => [row.projection, row]));
};

interface Waiter {
  readonly projections: readonly ProjectionName[];
  readonly position: bigint;
}

/**
 * Polls the checkpoints for all requests of this process that wait for the read models. One poll serves all waiting
 * requests, and polling stops while no request waits.
 */
@Injectable()
export class Checkpoints {
  private readonly shared: SharedPoll<Waiter>;

  constructor(
    private readonly pool: CheckpointPool,
    @Optional() clock: Clock = monotonic,
  ) {
    this.shared = new SharedPoll(() => this.poll(), MIN_POLL_INTERVAL_MS, RETRY_DELAY_MS, clock);
  }

  /**
   * The checkpoints by projection, read after the call. Concurrent calls share one query.
   * @throws Unavailable if the database is unavailable
   */
  readonly current: () => Promise<CheckpointRows> = coalesce(() => readCheckpoints(this.pool, TIME_LIMIT_MS));

  /**
   * Returns whether a projector holds the lease of a lane, even if its checkpoint does not move.
   * @throws if the database is unavailable
   */
  async isProjecting(lane: string): Promise<boolean> {
    const [row] = await READ_IS_LEASED.run(this.pool, { lane }, TIME_LIMIT_MS);
    return row!.isLeased;
  }

  /**
   * Waits until the checkpoints of all these projections have reached a position of the log.
   * @returns true once the checkpoints have reached the position; false after `timeoutMs` or when `signal` aborts
   */
  async reached(
    projections: readonly ProjectionName[],
    position: bigint,
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<boolean> {
    if (projections.length === 0) return true;
    return this.shared.wait({ projections, position }, timeoutMs, signal);
  }

  private async poll(): Promise<boolean> {
    const rows = await this.current().catch(() => undefined);
    if (rows === undefined) return false;
    for (const waiter of this.shared.waiters)
      if (hasReached(rows, waiter.projections, waiter.position)) this.shared.end(waiter, true);
    return true;
  }
}

/**
 * Returns SQL for the position of the log up to which all these projections have written their rows; -1 if one of them
 * has no checkpoint. As a column of the statement that reads the rows, it is from the same snapshot as the rows.
 */
export const positionOf = (...projections: readonly ProjectionName[]): string => `(
      select case when count(*) = ${projections.length} then min(position) else -1 end from read.checkpoints
      where projection in (${projections.map((name) => `'${name}'`).join(', ')}))`;

/**
 * Returns SQL for one row: the rows of `query` as the JSON array `rows`, and `position` as `positionOf` returns it, from
 * the same snapshot.
 */
export const rowsAtPosition = (query: string, ...projections: readonly ProjectionName[]): string => `
    select ${positionOf(...projections)} as position,
      (select coalesce(json_agg(listed), '[]') from (${query}
      ) listed) as rows`;
