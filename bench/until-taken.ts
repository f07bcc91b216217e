const MAX_ATTEMPTS = 10;

/** If a server pauses, the bare client gives up after 10 s, the adapter after 1.8 s: both are called again. */
export const untilTaken = async <T>(work: () => Promise<T>): Promise<T> => {
  for (let attempt = 1; ; attempt += 1)
    try {
      return await work();
    } catch (error) {
      if (
        attempt === MAX_ATTEMPTS ||
        !/did not answer|DEADLINE_EXCEEDED|Deadline exceeded/i.test((error as Error).message)
      )
        throw error;
    }
};
