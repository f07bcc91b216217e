/** Number of consecutive failures that opens the breaker. */
const FAILURE_THRESHOLD = 5;
/** How long the breaker stays open before one request may probe the source, in ms. */
const OPEN_MS = 10_000;

/** Skips requests to a source that keeps failing. */
export class CircuitBreaker {
  private failures = 0;
  private openUntil = 0;
  private isProbing = false;

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** Whether the breaker is open or half-open. */
  get isOpen(): boolean {
    return this.failures >= FAILURE_THRESHOLD;
  }

  /**
   * Returns whether the source may be called now. While the breaker is half-open, only one caller may call the source.
   */
  allows(): boolean {
    if (this.failures < FAILURE_THRESHOLD) return true;
    if (this.isProbing || this.now() < this.openUntil) return false;
    this.isProbing = true;
    return true;
  }

  report(succeeded: boolean): void {
    this.isProbing = false;
    this.failures = succeeded ? 0 : this.failures + 1;
    if (this.failures >= FAILURE_THRESHOLD) this.openUntil = this.now() + OPEN_MS;
  }
}
