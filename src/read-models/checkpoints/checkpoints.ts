import { Injectable, Optional } from '@nestjs/common';
import { type Clock, monotonic } from '../../flow/clock.js';
import { coalesce } from '../../flow/coalesce.js';
import type { Connection, RowOf } from '../../postgres/statement.js';
import { READ_IS_LEASED } from '../leases/statements.js';
import { CheckpointPool } from '../pools.js';
import { READ_CHECKPOINTS } from './statements.js';

const MIN_POLL_INTERVAL_MS = 10;
/** After a slow poll, the pause is this many times the duration of the poll. */
const PAUSE_FACTOR = 4;
const RETRY_DELAY_MS = 100;
const READ_TIMEOUT_MS = 2_500;

/** The names of all projections in `projections/registry.ts`. */
export const ALL_PROJECTIONS = [
  'asset-groups',
  'asset-statuses',
  'brands-and-flags',
  'metrics',
  'records',
  'takedowns',
  'webhooks',
] as const;
export type ProjectionName = (typeof ALL_PROJECTIONS)[number];

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
  readonly end: (isReached: boolean) => void;
}

/**
 * Polls the checkpoints for all requests of this process that wait for the read models. One poll serves all waiting
 * requests, and polling stops while no request waits.
 */
@Injectable()
export class Checkpoints {
  private readonly waiters = new Set<Waiter>();
  private isPolling = false;

  constructor(
    private readonly pool: CheckpointPool,
    @Optional() private readonly clock: Clock = monotonic,
  ) {}

  /**
   * The checkpoints by projection, read after the call. Concurrent calls share one query.
   * @throws Unavailable if the database is unavailable
   */
  readonly current: () => Promise<CheckpointRows> = coalesce(() => readCheckpoints(this.pool, READ_TIMEOUT_MS));

  /**
   * Returns whether a projector holds the lease of a lane, even if its checkpoint does not move.
   * @throws if the database is unavailable
   */
  async isProjecting(lane: string): Promise<boolean> {
    const [row] = await READ_IS_LEASED.run(this.pool, { lane }, READ_TIMEOUT_MS);
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
    const timer = new AbortController();
    let waiter!: Waiter;
    const ended = new Promise<boolean>((resolve) => {
      waiter = { projections, position, end: resolve };
    });
    const stop = (): void => waiter.end(false);
    signal?.addEventListener('abort', stop);
    if (signal?.aborted === true) stop();
    this.waiters.add(waiter);
    if (!this.isPolling) void this.poll();
    void this.clock.sleep(timeoutMs, timer.signal).then(stop);
    try {
      return await ended;
    } finally {
      timer.abort();
      signal?.removeEventListener('abort', stop);
      this.waiters.delete(waiter);
    }
  }

  private async poll(): Promise<void> {
    this.isPolling = true;
    while (this.waiters.size > 0) {
      const began = this.clock.now();
      const rows = await this.current().catch(() => undefined);
      if (rows !== undefined)
        for (const waiter of this.waiters) if (hasReached(rows, waiter.projections, waiter.position)) waiter.end(true);
      const delay = Math.max(MIN_POLL_INTERVAL_MS, PAUSE_FACTOR * (this.clock.now() - began));
      // Sleeping first lets the requests that were just resolved leave the set.
      await this.clock.sleep(rows === undefined ? RETRY_DELAY_MS : delay);
    }
    this.isPolling = false;
  }
}
