import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Pool } from 'pg';
import { type Clock, monotonic } from '../../flow/clock.js';
import type { RowOf } from '../../postgres/statement.js';
import { isTransient } from '../../postgres/transient-errors.js';
import { RELEASE_LEASE, ACQUIRE_LEASE } from './statements.js';

/** How long a lease is valid without renewal, and how often it is renewed. */
const LEASE_TTL_MS = 3_000;
const RENEW_INTERVAL_MS = 1_000;

type LeaseState = RowOf<typeof ACQUIRE_LEASE>;

/** The lanes whose leases this process holds. */
export class HeldLanes {
  private readonly held = new Set<string>();

  /** @param lanesByPreference all lanes of this process, the preferred lanes first */
  constructor(private readonly lanesByPreference: readonly string[]) {}

  set(lane: string, isHeld: boolean): void {
    if (isHeld) this.held.add(lane);
    else this.held.delete(lane);
  }

  hasOther(lane: string): boolean {
    return this.held.size > (this.held.has(lane) ? 1 : 0);
  }

  /** Whether this process holds the lane, and also holds a lane that it prefers. */
  isSpare(lane: string): boolean {
    return this.held.has(lane) && this.lanesByPreference.find((each) => this.held.has(each)) !== lane;
  }
}

export interface LeaseOptions {
  /** Called when the database is unavailable. */
  readonly onError: (sentence: string) => void;
  /** Called when the database is available again. */
  readonly onRecovery?: (sentence: string) => void;
  /** The lanes that this process holds. All leases of a process share one object. */
  readonly lanes?: HeldLanes;
  readonly clock?: Clock;
}

/**
 * Elects the process that works in a lane, and shares the lanes between idle and busy processes. The lease is an
 * optimisation and not a lock. A process that does not notice in time that it has lost the lease cannot write, because
 * every write compares and sets the checkpoint or the epoch.
 */
export class Lease {
  private readonly owner = `${hostname()}:${process.pid}:${randomUUID()}`;
  private readonly onError: (sentence: string) => void;
  private readonly onRecovery: (sentence: string) => void;
  private readonly lanes: HeldLanes;
  private readonly clock: Clock;
  private isFailing = false;

  constructor(
    private readonly pool: Pool,
    private readonly lane: string,
    { onError, onRecovery = () => {}, lanes = new HeldLanes([lane]), clock = monotonic }: LeaseOptions,
  ) {
    this.onError = onError;
    this.onRecovery = onRecovery;
    this.lanes = lanes;
    this.clock = clock;
  }

  /**
   * Waits until this process holds the lease or `signal` aborts, even while the database is unavailable.
   * @param onAttempt called after each attempt
   * @returns the epoch, which changes whenever another process acquires the lease; undefined if `signal` aborted
   * @throws errors that are not transient
   */
  async acquire(signal: AbortSignal, onAttempt: () => void = () => {}): Promise<number | undefined> {
    while (!signal.aborted) {
      const state = await this.tryToAcquire();
      onAttempt();
      if (state?.isHeld === true) {
        if (!signal.aborted) return state.epoch;
        // The lease was acquired after the abort. Without a release, other processes would wait until the lease
        // expires.
        await this.release().catch(() => {});
        return undefined;
      }
      await this.clock.sleep(RENEW_INTERVAL_MS / 2, signal);
    }
    return undefined;
  }

  /**
   * Renews the lease until `signal` aborts. Calls `onLost` and returns if another process holds the lease, or wants a
   * lane that this process can spare.
   */
  async hold(onLost: () => void, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.clock.sleep(RENEW_INTERVAL_MS, signal);
      if (signal.aborted) return;
      // While the database is unavailable, the holder is unknown; this process continues as long as its writes succeed.
      const state = await this.tryToAcquire();
      if (state?.isHeld === false || (state?.isWanted === true && this.lanes.isSpare(this.lane))) return onLost();
    }
  }

  /** Releases the lease, so that another process can acquire it immediately. */
  async release(): Promise<void> {
    this.lanes.set(this.lane, false);
    await RELEASE_LEASE.run(this.pool, { lane: this.lane, owner: this.owner });
  }

  /** @returns undefined if the database is unavailable */
  private async tryToAcquire(): Promise<LeaseState | undefined> {
    try {
      const { lane, owner } = this;
      const hasOther = this.lanes.hasOther(lane);
      const [state] = await ACQUIRE_LEASE.run(this.pool, { lane, owner, ttlMs: LEASE_TTL_MS, hasOther });
      this.lanes.set(lane, state!.isHeld);
      if (this.isFailing) this.onRecovery(`The lease of ${this.lane} is renewed again`);
      this.isFailing = false;
      return state;
    } catch (error) {
      if (!isTransient(error)) throw error;
      this.isFailing = true;
      this.onError(`Waiting for the database to renew the lease: ${(error as Error).message}`);
      return undefined;
    }
  }
}
