/**
 * Shares the runs of a job among its callers, one run at a time. Who calls while one is under way gets the next one,
 * with everybody else who waits: a run that began earlier may have looked too early.
 */
export const oneAtATime = <Result>(job: () => Promise<Result>): (() => Promise<Result>) => {
  let running: Promise<Result> | undefined;
  let next: Promise<Result> | undefined;
  const run = (): Promise<Result> => {
    const begun = job().finally(() => {
      if (running === begun) running = undefined;
    });
    running = begun;
    return begun;
  };
  const runNext = (): Promise<Result> => {
    next = undefined;
    return run();
  };
  return () => {
    if (next) return next;
    if (!running) return run();
    next = running.then(runNext, runNext);
    return next;
  };
};
