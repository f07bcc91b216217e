/** Writes batches one at a time in the order they are pushed, while the next one is being read and prepared. */
export class PipelinedWriter<Batch> {
  private writing: Promise<void> = Promise.resolve();

  constructor(
    /** Calls `onBegun` as soon as the database has its work. */
    private readonly write: (batch: Batch, onBegun: () => void) => Promise<void>,
    /** Aborts when another projector may write, or on shutdown. */
    private readonly signal: AbortSignal,
  ) {}

  /**
   * Resolves once writing `batch` has begun: the next batch is prepared while PostgreSQL works, and at most one waits.
   * A batch prepared when the signal aborted is dropped; its checkpoint has not moved.
   * @throws the error of writing the previous batch, also on every later call
   */
  async push(batch: Batch): Promise<void> {
    await this.writing;
    if (this.signal.aborted) return;
    const begun = new Promise<void>((resolve) => (this.writing = this.write(batch, resolve)));
    await Promise.race([begun, this.writing]);
  }

  /**
   * Waits for the batch under way.
   * @throws the error of writing it
   */
  finish(): Promise<void> {
    return this.writing;
  }
}
