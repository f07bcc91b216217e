import { storeIsolated } from '../postgres/transaction.js';
import { DelayedFlush, type FailureReport } from '../flow/background.js';

/** `maxRows` and `flushIntervalMs` bound the memory used and the number of rows that a crash loses. */
interface UpsertBufferOptions<Row> {
  /** Rows with the same key are merged into one. */
  readonly keyOf: (row: Row) => string;
  /** @param buffered the buffered row @param added a new row with the same key */
  readonly merge: (buffered: Row, added: Row) => Row;
  /** Rejects if the rows were not written, or may not all have been written. */
  readonly write: (rows: readonly Row[]) => Promise<unknown>;
  readonly report: FailureReport;
  /** The maximum number of rows in the buffer. If the buffer is full, rows with new keys are dropped and counted. */
  readonly maxRows: number;
  readonly flushIntervalMs: number;
}

/** Merges rows in memory and writes them together after a delay, so that no request waits for the write. */
export class UpsertBuffer<Row extends object> {
  private rows = new Map<string, Row>();
  private readonly flushes: DelayedFlush;

  constructor(private readonly options: UpsertBufferOptions<Row>) {
    this.flushes = new DelayedFlush(
      options.flushIntervalMs,
      () => this.write(),
      (error) => options.report.failed(error),
    );
  }

  /** @param row its values are read only if the buffer has no row with the same key */
  add(row: Row): void {
    this.put(row);
    this.flushes.schedule();
  }

  /** Writes the buffer for the last time. Never rejects; rows that cannot be written stay in the buffer. */
  stop(): Promise<void> {
    return this.flushes.stop();
  }

  private put(row: Row): void {
    const { keyOf, merge, maxRows, report } = this.options;
    const key = keyOf(row);
    const buffered = this.rows.get(key);
    if (buffered !== undefined) this.rows.set(key, merge(buffered, row));
    else if (this.rows.size < maxRows) this.rows.set(key, { ...row });
    else report.dropped(1);
  }

  private async write(): Promise<void> {
    const { rows } = this;
    const { keyOf, write, report } = this.options;
    this.rows = new Map();
    try {
      await storeIsolated(
        [...rows.values()],
        async (part) => {
          await write(part);
          for (const row of part) rows.delete(keyOf(row));
        },
        (row, error) => {
          rows.delete(keyOf(row));
          report.failed(error);
        },
      );
    } catch (error) {
      // If the rows were written and only the database's response was lost, the rows count twice.
      const added = this.rows;
      this.rows = rows;
      for (const row of added.values()) this.put(row);
      throw error;
    }
  }
}
