/** Failures in a row after which a source is left alone. */
const FAILURES = 5;
/** How long it is left alone before one request tries it again. ms */
const REST_MS = 10_000;

/** Keeps requests from waiting, one after the other, for a source that does not answer. */
export class Breaker {
  private failures = 0;
  private openUntil = 0;
  private isTrying = false;

  constructor(private readonly now: () => number = Date.now) {}

  /** Whether the source is left alone, or is being tried again. */
  get isOpen(): boolean {
    return this.failures >= FAILURES;
  }

  /** Whether the source may be asked now. While it is being tried again, nobody else may. */
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
