import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { READ_CLOCK } from './statements.js';

const TIME_LIMIT_MS = 2_500;
const MEASURE_EVERY_MS = 10_000;

/**
 * The time by the database's clock, in ms. Times that are stored and compared later come from this clock, because the
 * clocks of two machines may differ by any amount.
 */
export const databaseTime = async (pool: Pick<Pool, 'query'>): Promise<number> =>
  (await READ_CLOCK.run(pool, {}, TIME_LIMIT_MS))[0]!.now;

/**
 * The database's clock without a query for each reading: its distance from this process's monotonic clock, measured when
 * the process starts and every 10 s. Setting this machine's clock changes nothing.
 */
export class DatabaseClock {
  private readonly stop = new AbortController();
  private ahead: number | undefined;

  /** Without a pool, and until the database has answered once, this machine's clock. */
  constructor(private readonly pool?: Pick<Pool, 'query'>) {}

  /** ms */
  now(): number {
    return this.ahead === undefined ? Date.now() : Math.floor(performance.now() + this.ahead);
  }

  /** Measures the distance; while the database is unavailable, the last one stays in use. */
  async measure(): Promise<void> {
    if (this.pool === undefined) return;
    // The database read its clock before its answer arrived, so `now` is never ahead of it.
    this.ahead = (await databaseTime(this.pool)) - performance.now();
  }

  /** Measures now, and every 10 s until `end`. */
  async begin(): Promise<this> {
    await this.measure().catch(() => {});
    void this.follow();
    return this;
  }

  end(): void {
    this.stop.abort();
  }

  private async follow(): Promise<void> {
    const { signal } = this.stop;
    while (!signal.aborted) {
      await sleep(MEASURE_EVERY_MS, undefined, { signal, ref: false }).catch(() => {});
      if (!signal.aborted) await this.measure().catch(() => {});
    }
  }
}
