import { randomUUID } from 'node:crypto';
import { type BeforeApplicationShutdown, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Gauge, Registry } from 'prom-client';
import { reportFailures, type FailureReport } from '../../flow/background/failure-report.js';
import { pause } from '../../flow/retry.js';
import { ACQUIRE_LEASE, RELEASE_LEASE } from '../leases/statements.js';
import { WatchPool } from '../pools.js';
import { countExpired, deleteExpired, type ExpiringRows } from './expiring-rows-sql.js';

/** The time between the ends of two rounds, in ms. */
const INTERVAL_MS = 600_000;
/** The time between two rounds while expired rows are left, in ms. */
const UNFINISHED_INTERVAL_MS = 5_000;
/** The time that one kind of rows may take in a round, in ms. The other kinds wait for it. */
const BUDGET_MS = 20_000;
/** The lane of the process that deletes. Other processes look every minute whether it has ended. */
const LANE = 'expiry';
/** How long the lease of the lane is valid, in ms: longer than a round and the time until the next one. */
const LEASE_TTL_MS = 900_000;
const STANDBY_INTERVAL_MS = 60_000;
/** How long a count is exported, in ms. */
const COUNTED_FOR_MS = 60_000;

interface Kind {
  readonly rows: ExpiringRows;
  readonly report: FailureReport;
  /** Where the next pass begins; undefined: at the beginning. */
  next: readonly string[] | undefined;
  /** When this process last had no expired rows left, or became the process that deletes (monotonic, ms). */
  completeAt: number;
  left: number | undefined;
}

/**
 * Deletes the rows of all organizations that have expired, in batches, in one process of the installation. Modules
 * register their rows. Each kind of rows has its own statements, time and metrics, so that no kind keeps the rows of
 * another from being deleted.
 */
@Injectable()
export class Expiry implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly kinds: Kind[] = [];
  private readonly stop = new AbortController();
  private running: Promise<void> = Promise.resolve();
  private countedAt = -Infinity;
  private readonly owner = randomUUID();
  private isElected = false;
  private readonly election: FailureReport;

  constructor(
    private readonly pool: WatchPool,
    private readonly registry: Registry = new Registry(),
  ) {
    this.election = reportFailures('elect the process that deletes expired rows', registry);
    const { kinds } = this;
    const count = (): Promise<void> => this.count();
    const isElected = (): boolean => this.isElected;
    const registers = [registry];
    new Gauge({
      name: 'threat_protection_expired_rows',
      help: 'Rows that have expired and are not deleted yet, counted up to 10,000, at most once a minute',
      labelNames: ['rows'],
      registers,
      async collect() {
        await count();
        this.reset();
        for (const { rows, left } of kinds) if (left !== undefined) this.set({ rows: rows.name }, left);
      },
    });
    new Gauge({
      name: 'threat_protection_expiry_age_seconds',
      help: 'Seconds since all expired rows were last deleted, in the process that deletes them',
      labelNames: ['rows'],
      registers,
      collect() {
        this.reset();
        if (!isElected()) return;
        for (const { rows, completeAt } of kinds)
          this.set({ rows: rows.name }, Math.floor((performance.now() - completeAt) / 1_000));
      },
    });
  }

  register(...kinds: readonly ExpiringRows[]): void {
    for (const rows of kinds)
      this.kinds.push({
        rows,
        report: reportFailures(`delete expired ${rows.name}`, this.registry),
        next: undefined,
        completeAt: performance.now(),
        left: undefined,
      });
  }

  onApplicationBootstrap(): void {
    this.running = this.repeat();
  }

  /**
   * Gives each kind of rows its time once, unless another process deletes.
   * @returns how long to wait until the next round, in ms
   */
  async round(): Promise<number> {
    if (!(await this.elect())) return STANDBY_INTERVAL_MS;
    let isComplete = true;
    for (const kind of this.kinds) {
      if (this.stop.signal.aborted) break;
      try {
        const { next } = await deleteExpired(this.pool, kind.rows, BUDGET_MS, kind.next, this.stop.signal);
        kind.next = next;
        if (next === undefined) kind.completeAt = performance.now();
        else isComplete = false;
      } catch (error) {
        kind.report.failed(error);
      }
    }
    return isComplete ? INTERVAL_MS : UNFINISHED_INTERVAL_MS;
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.stop.abort();
    await this.running;
    if (this.isElected) await RELEASE_LEASE.run(this.pool, { lane: LANE, owner: this.owner }).catch(() => {});
  }

  private async repeat(): Promise<void> {
    const { signal } = this.stop;
    while (!signal.aborted) await pause(await this.round(), signal);
  }

  /** Acquires or renews the lease. Two processes that both delete for a while only repeat work. */
  private async elect(): Promise<boolean> {
    const { owner, isElected } = this;
    try {
      const [lease] = await ACQUIRE_LEASE.run(this.pool, { lane: LANE, owner, ttlMs: LEASE_TTL_MS, hasOther: true });
      this.isElected = lease!.isHeld;
    } catch (error) {
      this.election.failed(error);
      return false;
    }
    if (!isElected) for (const kind of this.kinds) kind.completeAt = performance.now();
    return this.isElected;
  }

  /** A count that fails is not exported; the age still shows that rows are left. */
  private async count(): Promise<void> {
    if (performance.now() - this.countedAt < COUNTED_FOR_MS) return;
    this.countedAt = performance.now();
    for (const kind of this.kinds) kind.left = await countExpired(this.pool, kind.rows).catch(() => undefined);
  }
}
