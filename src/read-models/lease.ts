import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Pool } from 'pg';
import { CLOCK, statement, type RowOf } from '../postgres/statement.js';
import { type Clock, monotonic } from '../flow/time.js';
import { failureText, isTransient } from '../postgres/transient-errors.js';

/** How long a lease is valid without renewal, and how often it is renewed. */
const LEASE_TTL_MS = 3_000;
const RENEW_INTERVAL_MS = 1_000;

/**
 * Returns SQL that tells whether a lease is valid. One that ends later than a renewal could say is of a clock that was
 * set back since, or of the clock of another primary.
 */
const isValid = (expiresAt: string, ttlMs: string | number): string =>
  `${expiresAt} between ${CLOCK} and ${CLOCK} + 2 * ${ttlMs}`;

/** Acquires the lease of a lane if it is not valid, or renews it. Version 2.2 also uses the column `wanted_until`. */
export const ACQUIRE_LEASE = statement(
  'lease-take',
  { lane: 'text', owner: 'text', ttlMs: 'bigint' },
  {
    isHeld: 'boolean',
    /** Incremented when another owner acquires the lease. */
    epoch: 'bigint',
  },
  `
    insert into read.projector_leases as l (lane, owner, epoch, expires_at) values (:lane, :owner, 1, ${CLOCK} + :ttlMs)
    on conflict (lane) do update
      set (owner, epoch, expires_at) = (
        select
          case when taken then excluded.owner else l.owner end,
          case when taken and l.owner <> excluded.owner then l.epoch + 1 else l.epoch end,
          case when taken then excluded.expires_at else l.expires_at end
        from (select l.owner = excluded.owner or not ${isValid('l.expires_at', ':ttlMs')} as taken) decided
      )
    returning owner = :owner as "isHeld", epoch`,
);

/** Returns SQL that tells whether a process works in a lane, that is, whether the lease of the lane is valid. */
export const isLeased = (lane: string): string =>
  `exists (select from read.projector_leases where lane = ${lane} and ${isValid('expires_at', LEASE_TTL_MS)})`;

export const READ_IS_LEASED = statement(
  'lease-read',
  { lane: 'text' },
  { isLeased: 'boolean' },
  `select ${isLeased(':lane')} as "isLeased"`,
);

/** Ends the lease of a lane, and clears its owner, so that the former owner does not renew it. */
export const RELEASE_LEASE = statement(
  'lease-release',
  { lane: 'text', owner: 'text' },
  `
    update read.projector_leases set expires_at = 0, owner = '' where lane = :lane and owner = :owner`,
);

type LeaseState = RowOf<typeof ACQUIRE_LEASE>;

interface LeaseOptions {
  /** Called when the database is unavailable. */
  readonly onError: (sentence: string) => void;
  /** Called when the database is available again. */
  readonly onRecovery?: (sentence: string) => void;
  readonly clock?: Clock;
}

/**
 * Elects the process that works in a lane. The lease is an optimisation and not a lock. A process that does not notice in time that it has lost the lease cannot write, because
 * every write compares and sets the checkpoint or the epoch.
 */
export class Lease {
  private readonly owner = `${hostname()}:${process.pid}:${randomUUID()}`;
  private readonly onError: (sentence: string) => void;
  private readonly onRecovery: (sentence: string) => void;
  private readonly clock: Clock;
  private isFailing = false;

  constructor(
    private readonly pool: Pool,
    private readonly lane: string,
    { onError, onRecovery = () => {}, clock = monotonic }: LeaseOptions,
  ) {
    this.onError = onError;
    this.onRecovery = onRecovery;
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
   * Renews the lease until `signal` aborts. Calls `onLost` and returns if another process holds the lease.
   */
  async hold(onLost: () => void, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.clock.sleep(RENEW_INTERVAL_MS, signal);
      if (signal.aborted) return;
      // While the database is unavailable, the holder is unknown; this process continues as long as its writes succeed.
      const state = await this.tryToAcquire();
      if (state?.isHeld === false) return onLost();
    }
  }

  /** Releases the lease, so that another process can acquire it immediately. */
  async release(): Promise<void> {
    await RELEASE_LEASE.run(this.pool, { lane: this.lane, owner: this.owner });
  }

  /** @returns undefined if the database is unavailable */
  private async tryToAcquire(): Promise<LeaseState | undefined> {
    try {
      const { lane, owner } = this;
      const [state] = await ACQUIRE_LEASE.run(this.pool, { lane, owner, ttlMs: LEASE_TTL_MS });
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
