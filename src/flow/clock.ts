import { pause } from './retry.js';

/** The source of time for code that waits. Specs pass their own clock. */
export interface Clock {
  /** Milliseconds since an arbitrary moment; never decreases. */
  now(): number;
  /** Resolves after `ms` milliseconds, or as soon as `signal` aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const monotonic: Clock = { now: () => performance.now(), sleep: pause };
