import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Exponential back-off with jitter. The pause doubles up to a maximum. Each pause is shortened at random by up to a half,
 * so that processes that failed together do not retry together.
 */
export class Backoff {
  private failures = 0;

  constructor(
    private readonly firstMs: number,
    private readonly maxMs: number,
  ) {}

  /** Counts a failure. @returns the pause before the next attempt, in ms */
  next(): number {
    const pause = Math.min(this.firstMs * 2 ** this.failures, this.maxMs);
    this.failures += 1;
    return Math.ceil(pause * (1 - Math.random() / 2));
  }

  /** Called after a success: the next pause has the initial length again. */
  reset(): void {
    this.failures = 0;
  }
}

/** Resolves after `ms` milliseconds, or as soon as `signal` aborts. */
export const pause = (ms: number, signal?: AbortSignal): Promise<void> =>
  sleep(ms, undefined, { signal }).catch(() => undefined);

/**
 * Repeats `work` until it succeeds.
 * @param pauseAfter called with the error of each failed attempt; returns the pause before the next attempt in ms, or undefined
 *   if there is none
 * @param stop ends the pause
 * @throws the error of the last attempt; the error that `pauseAfter` throws; the reason of `stop`, once it aborts during
 *   a pause
 */
export const retry = async <Result>(
  work: () => Promise<Result>,
  pauseAfter: (error: unknown) => number | undefined,
  stop?: AbortSignal,
): Promise<Result> => {
  for (;;)
    try {
      return await work();
    } catch (error) {
      const ms = pauseAfter(error);
      if (ms === undefined) throw error;
      await pause(ms, stop);
      stop?.throwIfAborted();
    }
};
