import { setImmediate } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { type Clock, monotonic } from './time.js';

/**
 * Coalesces calls into runs of a job, one run at a time. Calls during a run share the next run, because the current run
 * may have read its data before the call. If the current run fails, the calls that wait for the next run fail too,
 * because the failed run has used up their time.
 *
 * A run starts in the next turn of the event loop, so that calls in the same turn share the run.
 */
export const coalesce = <Result>(job: () => Promise<Result>): (() => Promise<Result>) => {
  let running: Promise<Result> | undefined;
  let next: Promise<Result> | undefined;
  const runNext = async (): Promise<Result> => {
    try {
      await running;
      await setImmediate();
    } finally {
      next = undefined;
    }
    const begun = job().finally(() => {
      if (running === begun) running = undefined;
    });
    running = begun;
    return begun;
  };
  return () => (next ??= runNext());
};

/**
 * Calls during a run share the run and its failure, and further calls share its result for `keepForMs`. The next call
 * after that, or after a failure, starts a new run.
 */
export const singleFlight = <Result>(
  run: () => Promise<Result>,
  keepForMs = 0,
  clock: Pick<Clock, 'now'> = monotonic,
): (() => Promise<Result>) => {
  let shared: Promise<Result> | undefined;
  let until = Infinity;
  return () => {
    if (shared !== undefined && clock.now() < until) return shared;
    until = Infinity;
    shared = run();
    shared.then(
      () => (until = clock.now() + keepForMs),
      () => (shared = undefined),
    );
    return shared;
  };
};

/**
 * Keeps results by key; beyond the maximum size, the least recently used are dropped. Calls for a result that is being made
 * share it, and share a failure, which is not kept.
 */
export class SharedResults<Result extends object> {
  private readonly made: LRUCache<string, Result>;
  private readonly making = new Map<string, Promise<Result>>();

  /**
   * @param maxSize of all results together
   * @param sizeOf the size of a result, at least 1
   */
  constructor(maxSize: number, sizeOf: (result: Result) => number) {
    this.made = new LRUCache({ maxSize, sizeCalculation: sizeOf });
  }

  /** @param make called at once unless the result is known or being made */
  async get(key: string, make: () => Promise<Result>): Promise<Result> {
    const known = this.made.get(key) ?? this.making.get(key);
    if (known !== undefined) return known;
    const making = make();
    this.making.set(key, making);
    try {
      const result = await making;
      this.made.set(key, result);
      return result;
    } finally {
      this.making.delete(key);
    }
  }
}

/**
 * Waits until all promises have settled, so that the caller can then close what they use.
 * @throws the error of the first of these promises that rejected, in their order
 */
export const allEnded = async (promises: readonly Promise<unknown>[]): Promise<void> => {
  await Promise.allSettled(promises);
  await Promise.all(promises);
};
