import { setImmediate } from 'node:timers/promises';

/**
 * Single flight with a trailing run: calls during a run share the next one, because the current run may have read too
 * early. If the run they wait for fails, they fail too: the failure has already taken its time.
 *
 * A run begins with the next turn of the event loop, so that calls in the same turn share it.
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
