/** Single flight: calls during a run share it. A failure is shared too; the next call runs again. */
export const singleFlight = <Result>(run: () => Promise<Result>): (() => Promise<Result>) => {
  let running: Promise<Result> | undefined;
  return () => (running ??= run().finally(() => (running = undefined)));
};
