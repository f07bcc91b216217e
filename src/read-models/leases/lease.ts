import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Pool } from 'pg';
import { type Clock, monotonic } from '../../flow/clock.js';
import type { RowOf } from '../../postgres/statement.js';
import { isTransient } from '../../postgres/transient-errors.js';
import { RELEASE_LEASE, TAKE_LEASE } from './statements.js';

/** How long a lease lasts without renewal, and how often it is renewed. ms */
const HOLDS_MS = 3_000;
const RENEWED_EVERY_MS = 1_000;

type Taken = RowOf<typeof TAKE_LEASE>;

/** The lanes that this process holds, in the order in which it prefers them. */
export class HeldLanes {
  private readonly held = new Set<string>();

  /** @param all in order of preference */
  constructor(private readonly all: readonly string[]) {}

  set(lane: string, isHeld: boolean): void {
    if (isHeld) this.held.add(lane);
    else this.held.delete(lane);
  }

  hasOther(lane: string): boolean {
    return this.held.size > (this.held.has(lane) ? 1 : 0);
  }

  /** Whether it can be given to a projector that has none. */
  isSpare(lane: string): boolean {
    return this.held.has(lane) && this.all.find((each) => this.held.has(each)) !== lane;
  }
}

/**
 * Decides which of several processes works in a lane, and that none idles while another works in several. An
 * optimisation, not a lock: a holder too slow to notice its loss is stopped by a compare-and-set, of the checkpoints or
 * of the epoch.
 */
export class Lease {
  private readonly owner = `${hostname()}:${process.pid}:${randomUUID()}`;
  private isWaiting = false;

  constructor(
    private readonly pool: Pool,
    private readonly lane: string,
    /** Called when the database is unavailable. */
    private readonly onTrouble: (sentence: string) => void,
    /** Shared by the leases of a process. */
    private readonly lanes = new HeldLanes([lane]),
    /** Called when it is available again. */
    private readonly onRecovery: (sentence: string) => void = () => {},
    private readonly clock: Clock = monotonic,
  ) {}

  /**
   * Waits until this process holds the lease or `signal` aborts, even while the database is unavailable.
   * @param onTurn called each time that it has asked
   * @returns the epoch, which changes when another process takes the lease; undefined if it was aborted
   * @throws errors that waiting cannot fix
   */
  async acquire(signal: AbortSignal, onTurn: () => void = () => {}): Promise<number | undefined> {
    while (!signal.aborted) {
      const taken = await this.tryToTake();
      onTurn();
      if (taken?.isHeld === true) {
        if (!signal.aborted) return taken.epoch;
        // Taken by the statement that was under way: nobody is to wait until it expires.
        await this.release().catch(() => {});
        return undefined;
      }
      await this.clock.sleep(RENEWED_EVERY_MS / 2, signal);
    }
    return undefined;
  }

  /** Renews the lease until another process has it or should have it (calls `lost`), or `signal` aborts. */
  async hold(lost: () => void, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.clock.sleep(RENEWED_EVERY_MS, signal);
      if (signal.aborted) return;
      // A failed renewal says nothing about who holds the lease; a process that can write the rows may continue.
      const taken = await this.tryToTake();
      if (taken?.isHeld === false || (taken?.isWanted === true && this.lanes.isSpare(this.lane))) return lost();
    }
  }

  /** Lets another process take over at once. */
  async release(): Promise<void> {
    this.lanes.set(this.lane, false);
    await RELEASE_LEASE.run(this.pool, { lane: this.lane, owner: this.owner });
  }

  /** @returns undefined if the database is unavailable */
  private async tryToTake(): Promise<Taken | undefined> {
    try {
      const { lane, owner } = this;
      const hasOther = this.lanes.hasOther(lane);
      const [taken] = await TAKE_LEASE.run(this.pool, { lane, owner, holdsMs: HOLDS_MS, hasOther });
      this.lanes.set(lane, taken!.isHeld);
      if (this.isWaiting) this.onRecovery(`The lease of ${this.lane} is renewed again`);
      this.isWaiting = false;
      return taken;
    } catch (error) {
      if (!isTransient(error)) throw error;
      this.isWaiting = true;
      this.onTrouble(`Waiting for the database to renew the lease: ${(error as Error).message}`);
      return undefined;
    }
  }
}
