/** Calls `work` with 0 to `times` - 1, at most `lanes` calls at a time. */
export const runConcurrently = async (
  lanes: number,
  times: number,
  work: (n: number) => Promise<unknown>,
): Promise<void> => {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < times) await work(next++);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
};
