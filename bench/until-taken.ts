const MAX_ATTEMPTS = 10;

/** Where a server pauses, the bare client waits for as long; the adapter gives up after 1.8 s and is called again. */
export const untilTaken = async <T>(work: () => Promise<T>): Promise<T> => {
  for (let attempt = 1; ; attempt += 1)
    try {
      return await work();
    } catch (error) {
      if (attempt === MAX_ATTEMPTS || !/did not answer/.test((error as Error).message)) throw error;
    }
};
