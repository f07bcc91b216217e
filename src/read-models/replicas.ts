import type { Pool } from 'pg';
import { type Clock, monotonic } from '../flow/time.js';
import type { Connection } from '../postgres/statement.js';
import { inTransaction } from '../postgres/transaction.js';
import { isDatabaseError, isTransient } from '../postgres/transient-errors.js';
import { type CheckpointRows, type Checkpoints, readCheckpoints } from './checkpoints.js';
import type { ReplicaPools } from './pools.js';

/** The checkpoints and the query of a read come from one snapshot. */
const BEGIN_SNAPSHOT = 'begin isolation level repeatable read, read only';
/** Timeout for beginning the transaction on a replica, and for reading its checkpoints. */
const CHECK_TIMEOUT_MS = 300;
/** How long all reads go to the primary after a replica has failed. */
const FAILURE_PAUSE_MS = 1_000;
/** How often the positions of the primary are read. */
const PRIMARY_POLL_INTERVAL_MS = 200;
/** After this many failed polls of the primary in a row, replicas are used regardless of their lag. */
const MAX_FAILED_POLLS = 5;

/** The rows of a replica are older than this read allows, so the primary must answer the read. */
export class TooOld extends Error {}

const positionsOf = (rows: CheckpointRows): number[] => [...rows.values()].map(({ position }) => position);
const highestOf = (positions: readonly number[]): number => Math.max(-1, ...positions);

/**
 * Sends reads to a replica or to the primary. Behind the address of the replicas, each connection may reach a different
 * server, so every read checks the position of its replica in its own transaction. A read that fails on a replica is
 * repeated from the start on the primary, so that no result mixes rows of two servers.
 */
export class Replicas {
  private readonly stop = new AbortController();
  private readonly polling: Promise<void>;
  /**
   * The highest checkpoint of the primary at each poll, oldest first. A replica must have reached the oldest of these
   * positions.
   */
  private readonly primaryPositions: { readonly at: number; readonly highest: number }[] = [];
  private failedPolls = 0;
  /** Reads go to the primary until this instant. */
  private pausedUntil = -Infinity;

  /**
   * @param pools undefined if there are no replicas
   * @param checkpoints the checkpoints on the primary
   * @param maxLagMs how far a replica may be behind the primary
   */
  constructor(
    private readonly pools: ReplicaPools | undefined,
    private readonly checkpoints: Pick<Checkpoints, 'current'>,
    private readonly maxLagMs: number,
    private readonly clock: Clock = monotonic,
  ) {
    this.polling = pools === undefined ? Promise.resolve() : this.pollPrimary();
  }

  /**
   * @param query called a second time, on the primary, if it fails on a replica
   * @param minPosition the position of the log that the rows must include
   * @throws the error of `query` on the primary, or an error of `query` on a replica that is not from the database
   */
  async read<Result>(
    kind: keyof ReplicaPools,
    primary: Connection,
    query: (connection: Connection, isReplica: boolean) => Promise<Result>,
    minPosition = -1,
  ): Promise<Result> {
    if (this.pools === undefined || this.clock.now() < this.pausedUntil) return query(primary, false);
    try {
      return await this.readFromReplica(this.pools[kind], query, minPosition);
    } catch (error) {
      if (!(error instanceof TooOld)) {
        if (!isTransient(error) && !isDatabaseError(error)) throw error;
        this.pausedUntil = this.clock.now() + FAILURE_PAUSE_MS;
      }
    }
    return query(primary, false);
  }

  async end(): Promise<void> {
    this.stop.abort();
    await this.polling;
    await Promise.all([this.pools?.metrics.end(), this.pools?.records.end()]);
  }

  /** @throws TooOld if the replica has not reached `minPosition`, or is too far behind the primary */
  private readFromReplica<Result>(
    pool: Pool,
    query: (connection: Connection, isReplica: boolean) => Promise<Result>,
    minPosition: number,
  ): Promise<Result> {
    const required = this.requiredPosition();
    return inTransaction(
      pool,
      async (connection) => {
        const positions = positionsOf(await readCheckpoints(connection, CHECK_TIMEOUT_MS));
        const lowest = positions.length === 0 ? -1 : Math.min(...positions);
        if (lowest < minPosition) throw new TooOld('The replica has not reached the position of the consistency token');
        if (highestOf(positions) < required) throw new TooOld('The replica is too far behind the primary');
        return query(connection, true);
      },
      BEGIN_SNAPSHOT,
      CHECK_TIMEOUT_MS,
    );
  }

  /** @returns Infinity until the first poll of the primary has succeeded */
  private requiredPosition(): number {
    // While the primary is unavailable, old rows are better than no rows.
    if (this.failedPolls >= MAX_FAILED_POLLS) return -1;
    return this.primaryPositions[0]?.highest ?? Infinity;
  }

  private async pollPrimary(): Promise<void> {
    while (!this.stop.signal.aborted) {
      try {
        this.recordPosition(highestOf(positionsOf(await this.checkpoints.current())));
        this.failedPolls = 0;
      } catch {
        this.failedPolls += 1;
      }
      await this.clock.sleep(PRIMARY_POLL_INTERVAL_MS, this.stop.signal);
    }
  }

  /** Keeps the newest position that is older than `maxLagMs`, and all later positions. */
  private recordPosition(highest: number): void {
    const now = this.clock.now();
    this.primaryPositions.push({ at: now, highest });
    while (this.primaryPositions.length > 1 && this.primaryPositions[1]!.at <= now - this.maxLagMs)
      this.primaryPositions.shift();
  }
}

/** Sends every read to the primary. */
export const NO_REPLICAS = new Replicas(undefined, { current: async () => new Map() }, 0);
