/**
 * Flushes data collected in memory after a delay, so that no request waits for the flush. One flush runs at a time. A
 * failed flush is retried. The last flush runs at shutdown.
 */
export class DelayedFlush {
  private timer: NodeJS.Timeout | undefined;
  private flushing: Promise<void> = Promise.resolve();
  private hasStopped = false;

  /**
   * @param flush writes the data; if writing fails, restores the data and rejects
   * @param onFailure called with the error of a failed flush
   */
  constructor(
    private readonly delayMs: number,
    private readonly flush: () => Promise<void>,
    private readonly onFailure: (error: unknown) => void,
  ) {}

  schedule(): void {
    if (this.hasStopped) return;
    this.timer ??= setTimeout(() => void this.now(), this.delayMs).unref();
  }

  /** Never rejects. */
  now(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.flushing = this.flushing
      .then(() => this.flush())
      .catch((error: unknown) => {
        this.onFailure(error);
        this.schedule();
      });
    return this.flushing;
  }

  /** Flushes for the last time. A failure is not retried, because the database connection is about to be closed. */
  stop(): Promise<void> {
    this.hasStopped = true;
    return this.now();
  }
}
