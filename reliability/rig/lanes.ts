/** Calls `work` with 0, 1, 2 … below `times`, `lanes` of them at once. */
export const inLanes = async (lanes: number, times: number, work: (n: number) => Promise<unknown>): Promise<void> => {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < times) await work(next++);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
};
