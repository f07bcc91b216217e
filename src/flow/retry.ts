import { setTimeout as sleep } from 'node:timers/promises';

/**
 * How long to wait before each further attempt. The pause doubles up to a cap; each is cut by a random part of up to a
 * half, so that processes that failed together do not return together.
 */
export class Backoff {
  private failures = 0;

  /** Milliseconds. */
  constructor(
    private readonly firstMs: number,
    private readonly maxMs: number,
  ) {}

  /** The pause after one more failure. Milliseconds. */
  next(): number {
    const pause = Math.min(this.firstMs * 2 ** this.failures, this.maxMs);
    this.failures += 1;
    return Math.ceil(pause * (1 - Math.random() / 2));
  }

  /** After a success the first pause comes again. */
  reset(): void {
    this.failures = 0;
  }
}

/** Resolves after this time, or as soon as `signal` aborts. */
export const pause = (ms: number, signal?: AbortSignal): Promise<void> =>
  sleep(ms, undefined, { signal }).catch(() => undefined);
