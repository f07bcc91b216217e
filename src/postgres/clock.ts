import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { READ_CLOCK } from './statement.js';

const QUERY_TIMEOUT_MS = 2_500;
const MEASURE_INTERVAL_MS = 10_000;
/** How many measurements are compared: those of the last minute. */
const MAX_MEASUREMENTS = 6;
/** Measurements at the start, because the first response of a new connection is slow. */
const FIRST_MEASUREMENTS = 3;

/**
 * Reads the database's clock, in ms since 1970. Times that are stored and compared later come from this clock, because
 * the clocks of two machines may differ by any amount.
 */
export const databaseTime = async (pool: Pick<Pool, 'query'>): Promise<number> =>
  (await READ_CLOCK.run(pool, {}, QUERY_TIMEOUT_MS))[0]!.now;

/**
 * The database's clock without a query for each reading. The offset of the database's clock from the monotonic clock of
 * this process is measured at the start and every 10 s, so that changes to the clock of this machine have no effect.
 *
 * The database reads its clock before the response arrives, so a measured offset is too small by the time that the
 * response took: up to seconds on a busy machine. The largest of the last offsets is the nearest, and `now` is never
 * ahead of the database.
 */
export class DatabaseClock {
  private readonly stop = new AbortController();
  private offsetsMs: readonly number[] = [];

  /**
   * @param pool the database. The clock of this machine is used if there is no pool, and until the first measurement
   */
  constructor(private readonly pool?: Pick<Pool, 'query'>) {}

  /** ms since 1970 */
  now(): number {
    return this.offsetsMs.length === 0 ? Date.now() : Math.floor(performance.now() + Math.max(...this.offsetsMs));
  }

  /**
   * Measures the offset. If the measurement fails, the last offsets stay in use.
   * @throws the database's error
   */
  async measure(): Promise<void> {
    if (this.pool === undefined) return;
    const sentAt = performance.now();
    const time = await databaseTime(this.pool);
    // The largest offset that this response permits; the database reports whole milliseconds.
    const maxOffsetMs = time + 1 - sentAt;
    // An earlier, larger offset is of a time before the clock of the database was set back.
    const earlier = this.offsetsMs.filter((offset) => offset <= maxOffsetMs);
    this.offsetsMs = [...earlier, time - performance.now()].slice(-MAX_MEASUREMENTS);
  }

  /** Measures now, and every 10 s until `end`. */
  async begin(): Promise<this> {
    try {
      for (let count = 0; count < FIRST_MEASUREMENTS; count += 1) await this.measure();
    } catch {
      // Measured again in 10 s. Until then, the last offset or the clock of this machine is used.
    }
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
