import { setImmediate } from 'node:timers/promises';

/**
 * Shares the runs of a job among its callers, one run at a time. Who calls while one is under way gets the next one,
 * with everybody else who waits: a run that began earlier may have looked too early. Where the run that they wait for
 * fails, so do they: what made it fail took its time already.
 *
 * A run begins with the next turn of the event loop, so that those who call in this one share it.
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
