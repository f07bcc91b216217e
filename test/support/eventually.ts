import { availableParallelism, loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

/** Returns how many processes share one processor now, at least 1. Time limits are multiplied by this number. */
export const busyFactor = (): number => Math.max(1, loadavg()[0]! / availableParallelism());

/** The default timeout in ms: short in the suite `test`, elsewhere longer than a program takes to start. */
const defaultTimeoutMs = (): number =>
  ((globalThis as { EVENTUALLY_TIMEOUT_MS?: number }).EVENTUALLY_TIMEOUT_MS ?? 120_000) * busyFactor();

const PAUSE_MS = 10;

/**
 * Waits until a condition holds.
 * @param what describes the condition
 * @throws Error with `what` if the condition does not hold in time, and every error that `holds` throws
 */
export const eventually = async (
  what: string,
  holds: () => boolean | Promise<boolean>,
  timeoutMs = defaultTimeoutMs(),
): Promise<void> => {
  for (const end = performance.now() + timeoutMs; !(await holds()); await sleep(PAUSE_MS))
    if (performance.now() > end) throw new Error(`Timed out after ${timeoutMs} ms: ${what}`);
};

/**
 * Repeats `check` until it passes.
 * @throws the last error of `check` if it does not pass in time
 */
export const eventuallyPasses = async (
  check: () => void | Promise<void>,
  timeoutMs = defaultTimeoutMs(),
): Promise<void> => {
  for (const end = performance.now() + timeoutMs; ; await sleep(PAUSE_MS))
    try {
      await check();
      return;
    } catch (error) {
      if (performance.now() > end) throw error;
    }
};
