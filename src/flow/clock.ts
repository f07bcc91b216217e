import { pause } from './retry.js';

/** The time that something waits by. Specs pass a clock of their own. */
export interface Clock {
  /** Milliseconds since some moment; never goes back. */
  now(): number;
  /** Resolves after this time, or as soon as `signal` aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const monotonic: Clock = { now: () => performance.now(), sleep: pause };
