import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Waits for work, but not longer than this. The work continues; the timer keeps no process alive.
 * @returns whether it finished in time; rejects if it failed in time
 */
export const finishesWithin = (work: Promise<unknown>, ms: number): Promise<boolean> =>
  Promise.race([work.then(() => true), sleep(ms, false, { ref: false })]);
