import type { RunContext } from './run-context.js';

/**
 * Repeats work, each time after the one before, until it is stopped or the run ends.
 * @returns stops the work, and resolves once it has ended
 */
export const repeat = (context: RunContext, work: () => Promise<unknown>): (() => Promise<void>) => {
  let isStopped = false;
  const repeated = (async () => {
    while (!isStopped) await work();
  })();
  const stop = (): Promise<void> => {
    isStopped = true;
    return repeated;
  };
  context.onEnd(stop);
  return stop;
};
