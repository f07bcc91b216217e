/** Consecutive failures that open the breaker. */
const FAILURES = 5;
/** How long it stays open before one request may try again. ms */
const REST_MS = 10_000;

/** Keeps requests from waiting, one after another, for a source that does not answer. */
export class Breaker {
  private failures = 0;
  private openUntil = 0;
  private isTrying = false;

  constructor(private readonly now: () => number = Date.now) {}

  /** Open or half-open. */
  get isOpen(): boolean {
    return this.failures >= FAILURES;
  }

  /** Whether the source may be called now; half-open, one caller may. */
  allows(): boolean {
    if (this.failures < FAILURES) return true;
    if (this.isTrying || this.now() < this.openUntil) return false;
    this.isTrying = true;
    return true;
  }

  report(succeeded: boolean): void {
    this.isTrying = false;
    this.failures = succeeded ? 0 : this.failures + 1;
    if (this.failures >= FAILURES) this.openUntil = this.now() + REST_MS;
  }
}
