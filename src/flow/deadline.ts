/**
 * Waits for work for at most `ms` milliseconds. The work continues after the timeout. The timer does not keep the process
 * running.
 * @returns whether the work finished in time; rejects if the work failed in time
 */
export const finishesWithin = async (work: Promise<unknown>, ms: number): Promise<boolean> => {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, ms, false).unref();
  });
  try {
    return await Promise.race([work.then(() => true), timeout]);
  } finally {
    clearTimeout(timer);
  }
};
