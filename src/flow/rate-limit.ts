const WINDOW_MS = 60_000;

/** The remaining requests of a key in the current minute. */
export interface Allowance {
  readonly limit: number;
  readonly remaining: number;
  /** Seconds until the window ends, rounded up. */
  readonly resetSeconds: number;
  readonly exceeded: boolean;
}

interface Counts {
  get(key: string): number | undefined;
  set(key: string, count: number): unknown;
  clear(): void;
}

/**
 * Limits requests with a fixed window of one minute per key, in this process. The windows of all keys end at the same
 * time, so that one sweep clears all counters. Across the end of a window, a key can therefore send up to twice the
 * limit.
 */
export class RateLimit {
  private windowEnds = 0;

  /**
   * @param limit requests per key and minute; 0 means no limit
   * @param used the counters; bounded if clients can invent keys
   */
  constructor(
    private readonly limit: number,
    private readonly now: () => number = () => performance.now(),
    private readonly used: Counts = new Map<string, number>(),
  ) {}

  /** Counts one request of a key. Returns undefined if there is no limit. */
  take(keyId: string): Allowance | undefined {
    if (this.limit === 0) return undefined;
    const now = this.now();
    if (now >= this.windowEnds) {
      this.used.clear();
      this.windowEnds = now + WINDOW_MS;
    }
    const used = (this.used.get(keyId) ?? 0) + 1;
    this.used.set(keyId, used);
    return {
      limit: this.limit,
      remaining: Math.max(0, this.limit - used),
      resetSeconds: Math.ceil((this.windowEnds - now) / 1000),
      exceeded: used > this.limit,
    };
  }
}
