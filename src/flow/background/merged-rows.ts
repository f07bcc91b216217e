import { DelayedFlush } from './delayed-flush.js';
import type { FailureReport } from './failure-report.js';

/** What becomes of rows; `maximum` and `everyMs` bound the memory and what a kill -9 loses. */
interface Merging<Row> {
  /** Rows with the same key become one. */
  readonly keyOf: (row: Row) => string;
  /** @param known a row that waits @param more one with the same key */
  readonly merge: (known: Row, more: Row) => Row;
  /** Rejects if nothing, or not surely everything, was written. */
  readonly write: (rows: readonly Row[]) => Promise<void>;
  readonly report: FailureReport;
  /** Rows that wait at most; while there are as many, rows with other keys are dropped and counted. */
  readonly maximum: number;
  readonly everyMs: number;
}

/** Rows collected in memory and written together after a delay, so that no request waits for it. */
export class MergedRows<Row extends object> {
  private waiting = new Map<string, Row>();
  private readonly flushes: DelayedFlush;

  constructor(private readonly merging: Merging<Row>) {
    this.flushes = new DelayedFlush(
      merging.everyMs,
      () => this.write(),
      (error) => merging.report.failed(error),
    );
  }

  /** @param row its values are read only if no row with its key waits */
  add(row: Row): void {
    this.put(row);
    this.flushes.schedule();
  }

  /** Writes for the last time. Never fails: what cannot be written is kept. */
  stop(): Promise<void> {
    return this.flushes.stop();
  }

  private put(row: Row): void {
    const { keyOf, merge, maximum, report } = this.merging;
    const key = keyOf(row);
    const known = this.waiting.get(key);
    if (known !== undefined) this.waiting.set(key, merge(known, row));
    else if (this.waiting.size < maximum) this.waiting.set(key, { ...row });
    else report.dropped(1);
  }

  private async write(): Promise<void> {
    const { waiting } = this;
    if (waiting.size === 0) return;
    this.waiting = new Map();
    try {
      await this.merging.write([...waiting.values()]);
    } catch (error) {
      // If only the answer was lost, they count twice.
      const since = this.waiting;
      this.waiting = waiting;
      for (const row of since.values()) this.put(row);
      throw error;
    }
  }
}
