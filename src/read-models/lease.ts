import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Pool } from 'pg';
import { CLOCK, statement, type RowOf } from '../postgres/statement.js';
import { type Clock, monotonic } from '../flow/time.js';
import { failureText, isTransient } from '../postgres/transient-errors.js';

/** How long a projector that already holds a lane waits before it takes a second lane that another projector wants. */
const SECOND_LANE_DELAY_MS = 1_500;

/**
 * Acquires the lease of a lane if it has expired, or renews it. Otherwise, a projector without a lane marks the lease
 * as wanted.
 */
export const ACQUIRE_LEASE = statement(
  'lease-take',
  {
    lane: 'text',
    owner: 'text',
    ttlMs: 'bigint',
    /** Whether the owner holds another lane. */
    hasOther: 'boolean',
  },
  {
    isHeld: 'boolean',
    /** Incremented when another owner acquires the lease. */
    epoch: 'bigint',
    /** Whether a projector without a lane waits for this lane. */
    isWanted: 'boolean',
  },
  `
    insert into read.projector_leases as l (lane, owner, epoch, expires_at) values (:lane, :owner, 1, ${CLOCK} + :ttlMs)
    on conflict (lane) do update
      set (owner, epoch, expires_at, wanted_until) = (
        select
          case when taken then excluded.owner else l.owner end,
          case when taken and l.owner <> excluded.owner then l.epoch + 1 else l.epoch end,
          case when taken then excluded.expires_at else l.expires_at end,
          case
            when taken and l.owner <> excluded.owner then 0
            when taken or :hasOther then l.wanted_until
            else excluded.expires_at
          end
        from (
          select l.owner = excluded.owner
            or l.expires_at < ${CLOCK} - case when :hasOther and l.wanted_until > ${CLOCK} then ${SECOND_LANE_DELAY_MS} else 0 end as taken
        ) decided
      )
    returning owner = :owner as "isHeld", epoch, wanted_until > ${CLOCK} as "isWanted"`,
);

/** Returns SQL that tells whether a process works in a lane, that is, whether the lease of the lane is valid. */
export const isLeased = (lane: string): string =>
  `exists (select from read.projector_leases where lane = ${lane} and expires_at > ${CLOCK})`;

export const READ_IS_LEASED = statement(
  'lease-read',
  { lane: 'text' },
  { isLeased: 'boolean' },
  `select ${isLeased(':lane')} as "isLeased"`,
);

/**
 * Expires the lease of a lane, and clears its owner, so that the former owner does not renew it. The end is in the past,
 * because a lease that ends in the present millisecond cannot be acquired yet.
 */
export const RELEASE_LEASE = statement(
  'lease-release',
  { lane: 'text', owner: 'text' },
  `
    update read.projector_leases set expires_at = ${CLOCK} - 1, owner = '' where lane = :lane and owner = :owner`,
);

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

interface LeaseOptions {
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
      this.onError(`Waiting for the database to renew the lease: ${failureText(error)}`);
      return undefined;
    }
  }
}
