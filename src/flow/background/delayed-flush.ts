/**
 * Flushes data collected in memory after a delay, so that no request waits for it: one flush at a time, retried on
 * failure, and a last one at shutdown.
 */
export class DelayedFlush {
  private timer: NodeJS.Timeout | undefined;
  private flushing: Promise<void> = Promise.resolve();
  private hasStopped = false;

  /**
   * @param flush rejects if it could not write; it has put back what it could not write
   * @param onFailure told what it rejected with
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

  /** Flushes for the last time: afterwards nothing is retried, because what would be written to is closed too. */
  stop(): Promise<void> {
    this.hasStopped = true;
    return this.now();
  }
}
