import { type BeforeApplicationShutdown, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Gauge, Registry } from 'prom-client';
import { reportFailures, type FailureReport } from '../../flow/background/failure-report.js';
import { pause } from '../../flow/retry.js';
import { WatchPool } from '../pools.js';
import { countExpired, deleteExpired, type ExpiringRows } from './expiring-rows-sql.js';

/** The time between the ends of two rounds, in ms. */
const INTERVAL_MS = 600_000;
/** The time between two rounds while expired rows are left, in ms. */
const UNFINISHED_INTERVAL_MS = 5_000;
/** The time that one kind of rows may take in a round, in ms. The other kinds wait for it. */
const BUDGET_MS = 20_000;
/** How long a count is exported, in ms. */
const COUNTED_FOR_MS = 60_000;

interface Kind {
  readonly rows: ExpiringRows;
  readonly report: FailureReport;
  /** Where the next pass begins; undefined: at the beginning. */
  next: readonly string[] | undefined;
  /** When this process last had no expired rows left, or started (monotonic, ms). */
  completeAt: number;
  left: number | undefined;
}

/**
 * Deletes the rows of all organizations that have expired, in batches. Modules register their rows. Each kind of rows has
 * its own statements, time and metrics, so that no kind keeps the rows of another from being deleted.
 */
@Injectable()
export class Expiry implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly kinds: Kind[] = [];
  private readonly stop = new AbortController();
  private running: Promise<void> = Promise.resolve();
  private countedAt = -Infinity;

  constructor(
    private readonly pool: WatchPool,
    private readonly registry: Registry = new Registry(),
  ) {
    const { kinds } = this;
    const count = (): Promise<void> => this.count();
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
      help: 'Seconds since this process last had deleted all expired rows, or since it started',
      labelNames: ['rows'],
      registers,
      collect() {
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

  /** Gives each kind of rows its time once. @returns whether everything that had expired is deleted */
  async round(): Promise<boolean> {
    let isComplete = true;
    for (const kind of this.kinds) {
      if (this.stop.signal.aborted) return false;
      try {
        const { next } = await deleteExpired(this.pool, kind.rows, BUDGET_MS, kind.next, this.stop.signal);
        kind.next = next;
        if (next === undefined) kind.completeAt = performance.now();
        else isComplete = false;
      } catch (error) {
        kind.report.failed(error);
      }
    }
    return isComplete;
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.stop.abort();
    await this.running;
  }

  private async repeat(): Promise<void> {
    const { signal } = this.stop;
    while (!signal.aborted) {
      const isComplete = await this.round();
      await pause(isComplete ? INTERVAL_MS : UNFINISHED_INTERVAL_MS, signal);
    }
  }

  /** A count that fails is not exported; the age still shows that rows are left. */
  private async count(): Promise<void> {
    if (performance.now() - this.countedAt < COUNTED_FOR_MS) return;
    this.countedAt = performance.now();
    for (const kind of this.kinds) kind.left = await countExpired(this.pool, kind.rows).catch(() => undefined);
  }
}
