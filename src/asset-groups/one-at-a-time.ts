/**
 * Shares the runs of a job among its callers, one run at a time. Who calls while one is under way gets the next one,
 * with everybody else who waits: a run that began earlier may have looked too early. Where the run that they wait for
 * fails, so do they: what made it fail took its time already.
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
  return () => {
    if (next) return next;
    if (!running) return run();
    next = running.then(
      () => {
        next = undefined;
        return run();
      },
      (error: unknown) => {
        next = undefined;
        throw error;
      },
    );
    return next;
  };
};
