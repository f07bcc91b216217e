/** Writes batches in order, one at a time, while the caller prepares the next batch. */
export class PipelinedWriter<Batch> {
  private writing: Promise<void> = Promise.resolve();

  constructor(
    /** Calls `onStarted` when the first statement has completed and the next batch can be prepared. */
    private readonly write: (batch: Batch, onStarted: () => void) => Promise<void>,
    /** Aborts on shutdown, or when this process has lost its lease. */
    private readonly signal: AbortSignal,
  ) {}

  /**
   * Waits for the previous batch, and resolves when writing `batch` has started. If the signal has aborted, `batch` is
   * not written, and its checkpoint does not move.
   * @throws the error of the previous batch, also on every later call
   */
  async push(batch: Batch): Promise<void> {
    await this.writing;
    if (this.signal.aborted) return;
    const started = new Promise<void>((resolve) => (this.writing = this.write(batch, resolve)));
    await Promise.race([started, this.writing]);
  }

  /**
   * Waits for the batch in flight.
   * @throws the error of that batch
   */
  finish(): Promise<void> {
    return this.writing;
  }
}
