import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { READ_CLOCK } from './statements.js';

const QUERY_TIMEOUT_MS = 2_500;
const MEASURE_INTERVAL_MS = 10_000;

/**
 * Reads the database's clock, in ms since 1970. Times that are stored and compared later come from this clock, because
 * the clocks of two machines may differ by any amount.
 */
export const databaseTime = async (pool: Pick<Pool, 'query'>): Promise<number> =>
  (await READ_CLOCK.run(pool, {}, QUERY_TIMEOUT_MS))[0]!.now;

/**
 * The database's clock without a query for each reading. The offset of the database's clock from the monotonic clock of
 * this process is measured at the start and every 10 s, so that changes to the clock of this machine have no effect.
 */
export class DatabaseClock {
  private readonly stop = new AbortController();
  private offsetMs: number | undefined;

  /**
   * @param pool the database. The clock of this machine is used if there is no pool, and until the first measurement
   */
  constructor(private readonly pool?: Pick<Pool, 'query'>) {}

  /** ms since 1970 */
  now(): number {
    return this.offsetMs === undefined ? Date.now() : Math.floor(performance.now() + this.offsetMs);
  }

  /**
   * Measures the offset. If the measurement fails, the last offset stays in use.
   * @throws the database's error
   */
  async measure(): Promise<void> {
    if (this.pool === undefined) return;
    // The database reads its clock before the response arrives, so `now` is never ahead of the database.
    this.offsetMs = (await databaseTime(this.pool)) - performance.now();
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
      await sleep(MEASURE_INTERVAL_MS, undefined, { signal, ref: false }).catch(() => {});
      if (!signal.aborted) await this.measure().catch(() => {});
    }
  }
}
