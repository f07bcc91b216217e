/** Calls during a run share the run and its failure. The next call after the run starts a new run. */
export const singleFlight = <Result>(run: () => Promise<Result>): (() => Promise<Result>) => {
  let running: Promise<Result> | undefined;
  return () => (running ??= run().finally(() => (running = undefined)));
};
