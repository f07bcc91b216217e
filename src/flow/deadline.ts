/**
 * Waits for work, but not longer than this. The work continues; the timer keeps no process alive.
 * @returns whether it finished in time; rejects if it failed in time
 */
export const finishesWithin = async (work: Promise<unknown>, ms: number): Promise<boolean> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, ms, false).unref();
  });
  try {
    return await Promise.race([work.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
};
