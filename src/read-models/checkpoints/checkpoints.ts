import { Injectable, Optional } from '@nestjs/common';
import { type Clock, monotonic } from '../../flow/clock.js';
import { coalesce } from '../../flow/trailing-flight.js';
import type { Connection, RowOf } from '../../postgres/statement.js';
import { WatchPool } from '../pools.js';
import { READ_CHECKPOINTS } from '../statements.js';

const POLL_MS = 10;
/** A poll that takes long is followed by a pause this many times as long. */
const REST = 4;
const AFTER_FAILURE_MS = 100;
const TIME_LIMIT_MS = 2_500;

/** The projections. `projections/registry.ts` lists them too. */
export type ProjectionName =
  'asset-groups' | 'asset-statuses' | 'brands-and-flags' | 'metrics' | 'records' | 'takedowns' | 'webhooks';

/** How far one projection has read the log. */
type CheckpointRow = RowOf<typeof READ_CHECKPOINTS>;
export type CheckpointRows = ReadonlyMap<string, CheckpointRow>;

/** Whether all of these projections have reached a position of the log. */
export const hasReached = (rows: CheckpointRows, projections: readonly ProjectionName[], position: bigint): boolean =>
  projections.every((name) => BigInt(rows.get(name)?.position ?? -1) >= position);

/** @param timeLimitMs how long the database may take to answer */
export const readCheckpoints = async (connection: Connection, timeLimitMs: number): Promise<CheckpointRows> => {
  const rows = await READ_CHECKPOINTS.run(connection, {}, timeLimitMs);
  return new Map(rows.map((row) => [row.projection, row]));
};

interface Waiting {
  readonly projections: readonly ProjectionName[];
  readonly position: bigint;
  readonly end: (isReached: boolean) => void;
}

/**
 * Follows the checkpoints for everything in this process that waits for the read models. It polls only while somebody
 * waits, and one poll serves all of them: a waiting request needs no query and no connection of its own.
 */
@Injectable()
export class Checkpoints {
  private readonly waiting = new Set<Waiting>();
  private isPolling = false;

  constructor(
    private readonly pool: WatchPool,
    @Optional() private readonly clock: Clock = monotonic,
  ) {}

  /**
   * The checkpoints by projection, read after the call. Concurrent calls share one query.
   * @throws Unavailable if the database is unavailable
   */
  readonly current: () => Promise<CheckpointRows> = coalesce(() => readCheckpoints(this.pool, TIME_LIMIT_MS));

  /**
   * Waits until the checkpoints of all these projections have reached a position of the log.
   * @param ms the longest wait
   * @returns whether they have; false after `ms`, if `signal` aborts, or while the database is unavailable
   */
  async reached(
    projections: readonly ProjectionName[],
    position: bigint,
    ms: number,
    signal?: AbortSignal,
  ): Promise<boolean> {
    if (projections.length === 0) return true;
    const timer = new AbortController();
    let waiting!: Waiting;
    const ended = new Promise<boolean>((resolve) => {
      waiting = { projections, position, end: resolve };
    });
    const stop = (): void => waiting.end(false);
    signal?.addEventListener('abort', stop);
    if (signal?.aborted === true) stop();
    this.waiting.add(waiting);
    if (!this.isPolling) void this.poll();
    void this.clock.sleep(ms, timer.signal).then(stop);
    try {
      return await ended;
    } finally {
      timer.abort();
      signal?.removeEventListener('abort', stop);
      this.waiting.delete(waiting);
    }
  }

  private async poll(): Promise<void> {
    this.isPolling = true;
    while (this.waiting.size > 0) {
      const began = this.clock.now();
      const rows = await this.current().catch(() => undefined);
      if (rows !== undefined)
        for (const one of this.waiting) if (hasReached(rows, one.projections, one.position)) one.end(true);
      const rest = Math.max(POLL_MS, REST * (this.clock.now() - began));
      // Requests that were just ended leave the set first.
      await this.clock.sleep(rows === undefined ? AFTER_FAILURE_MS : rest);
    }
    this.isPolling = false;
  }
}
