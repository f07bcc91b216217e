import type { Pool } from 'pg';
import { type Clock, monotonic } from '../../flow/clock.js';
import type { Connection } from '../../postgres/statement.js';
import { inTransaction } from '../../postgres/transaction.js';
import { isDatabaseError, isTransient } from '../../postgres/transient-errors.js';
import { type CheckpointRows, type Checkpoints, readCheckpoints } from '../checkpoints/checkpoints.js';
import type { ReplicaPools } from '../pools.js';

/** One snapshot for the checkpoints and the answer. */
const BEGIN = 'begin isolation level repeatable read, read only';
/** How long a replica may take to begin the transaction, and then to return its checkpoints. */
const BEGIN_LIMIT_MS = 300;
/** How long no replica is asked after one has failed. */
const PAUSE_MS = 1_000;
/** How often the primary's position is read. */
const READ_EVERY_MS = 200;
/** How many times in a row the primary must not answer before replicas answer however far behind they are. */
const MAX_FAILURES = 5;

/** A replica cannot answer, because its rows are older than the reader may see. */
export class TooOld extends Error {}

const positionsOf = (rows: CheckpointRows): number[] => [...rows.values()].map(({ position }) => position);
const furthestOf = (positions: readonly number[]): number => Math.max(-1, ...positions);

/**
 * Sends reads to the address of the replicas, or to the primary. The address may lead each connection to another
 * replica, so every read checks the replica that answers it, in the transaction of the answer. A read that a replica
 * cannot answer is repeated as a whole on the primary: no answer mixes two servers.
 */
export class Replicas {
  private readonly stop = new AbortController();
  private readonly following: Promise<void>;
  /** The primary's furthest positions, oldest first; the first one is the position that a replica must have reached. */
  private readonly past: { readonly at: number; readonly furthest: number }[] = [];
  private failures = 0;
  /** No replica is asked before this instant. */
  private pausedUntil = -Infinity;

  /**
   * @param pools undefined if there are no replicas
   * @param checkpoints the primary's
   */
  constructor(
    private readonly pools: ReplicaPools | undefined,
    private readonly checkpoints: Pick<Checkpoints, 'current'>,
    private readonly maxLagMs: number,
    private readonly clock: Clock = monotonic,
  ) {
    this.following = pools === undefined ? Promise.resolve() : this.follow();
  }

  /**
   * @param answer called a second time, with the primary, if a replica fails
   * @param minPosition the position of the log that the answer must include
   * @throws what `answer` throws on the primary, and what it throws on a replica unless the database caused it
   */
  async read<Answer>(
    kind: keyof ReplicaPools,
    primary: Connection,
    answer: (connection: Connection, isReplica: boolean) => Promise<Answer>,
    minPosition = -1,
  ): Promise<Answer> {
    if (this.pools === undefined || this.clock.now() < this.pausedUntil) return answer(primary, false);
    try {
      return await this.readFromReplica(this.pools[kind], answer, minPosition);
    } catch (error) {
      if (!(error instanceof TooOld)) {
        if (!isTransient(error) && !isDatabaseError(error)) throw error;
        this.pausedUntil = this.clock.now() + PAUSE_MS;
      }
    }
    return answer(primary, false);
  }

  async end(): Promise<void> {
    this.stop.abort();
    await this.following;
    await Promise.all([this.pools?.metrics.end(), this.pools?.records.end()]);
  }

  /** @throws TooOld if the replica has not reached `minPosition`, or is too far behind the primary */
  private readFromReplica<Answer>(
    pool: Pool,
    answer: (connection: Connection, isReplica: boolean) => Promise<Answer>,
    minPosition: number,
  ): Promise<Answer> {
    const required = this.requiredPosition();
    return inTransaction(
      pool,
      async (connection) => {
        const positions = positionsOf(await readCheckpoints(connection, BEGIN_LIMIT_MS));
        const least = positions.length === 0 ? -1 : Math.min(...positions);
        if (least < minPosition) throw new TooOld('This replica has not reached the position of the token');
        if (furthestOf(positions) < required) throw new TooOld('This replica is too far behind the primary');
        return answer(connection, true);
      },
      BEGIN,
      BEGIN_LIMIT_MS,
    );
  }

  /** Infinity until the primary has answered once. */
  private requiredPosition(): number {
    // Without the primary, what the replicas have is all there is.
    if (this.failures >= MAX_FAILURES) return -1;
    return this.past[0]?.furthest ?? Infinity;
  }

  private async follow(): Promise<void> {
    while (!this.stop.signal.aborted) {
      try {
        this.note(furthestOf(positionsOf(await this.checkpoints.current())));
        this.failures = 0;
      } catch {
        this.failures += 1;
      }
      await this.clock.sleep(READ_EVERY_MS, this.stop.signal);
    }
  }

  /** Keeps one position that is older than the limit, and those after it. */
  private note(furthest: number): void {
    const now = this.clock.now();
    this.past.push({ at: now, furthest });
    while (this.past.length > 1 && this.past[1]!.at <= now - this.maxLagMs) this.past.shift();
  }
}

/** Answers everything from the primary. */
export const NO_REPLICAS = new Replicas(undefined, { current: async () => new Map() }, 0);
