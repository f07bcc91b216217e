import { setTimeout as sleep } from 'node:timers/promises';

/** Longer than a service takes to start on a busy machine. ms */
const PATIENCE_MS = 120_000;
const PAUSE_MS = 10;

/**
 * Asks again and again until it holds.
 * @param what is waited for, in words
 * @param patience how long it may take, ms
 * @throws these words where it does not hold in time; whatever `holds` throws, at once
 */
export const eventually = async (
  what: string,
  holds: () => boolean | Promise<boolean>,
  patience = PATIENCE_MS,
): Promise<void> => {
  for (const end = performance.now() + patience; !(await holds()); await sleep(PAUSE_MS))
    if (performance.now() > end) throw new Error(`Timed out after ${patience} ms: ${what}`);
};

/**
 * Tries again and again until `check` passes.
 * @param patience how long it may take, ms
 * @throws as `check` throws, where it does not pass in time
 */
export const eventuallyPasses = async (check: () => void | Promise<void>, patience = PATIENCE_MS): Promise<void> => {
  for (const end = performance.now() + patience; ; await sleep(PAUSE_MS))
    try {
      await check();
      return;
    } catch (error) {
      if (performance.now() > end) throw error;
    }
};
