import { setTimeout as sleep } from 'node:timers/promises';

/** Longer than a service takes to start on a busy machine. */
const TIMEOUT_MS = 120_000;
const PAUSE_MS = 10;

/**
 * Waits until a condition holds.
 * @param what describes the condition
 * @throws Error with `what` if the condition does not hold in time, and every error that `holds` throws
 */
export const eventually = async (
  what: string,
  holds: () => boolean | Promise<boolean>,
  timeoutMs = TIMEOUT_MS,
): Promise<void> => {
  for (const end = performance.now() + timeoutMs; !(await holds()); await sleep(PAUSE_MS))
    if (performance.now() > end) throw new Error(`Timed out after ${timeoutMs} ms: ${what}`);
};

/**
 * Repeats `check` until it passes.
 * @throws the last error of `check` if it does not pass in time
 */
export const eventuallyPasses = async (check: () => void | Promise<void>, timeoutMs = TIMEOUT_MS): Promise<void> => {
  for (const end = performance.now() + timeoutMs; ; await sleep(PAUSE_MS))
    try {
      await check();
      return;
    } catch (error) {
      if (performance.now() > end) throw error;
    }
};
