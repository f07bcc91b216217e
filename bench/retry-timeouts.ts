const MAX_ATTEMPTS = 10;

/**
 * Retries work that timed out, up to ten attempts. If the server pauses, the bare client times out after 10 s and the
 * adapter after 1.8 s.
 */
export const retryTimeouts = async <T>(work: () => Promise<T>): Promise<T> => {
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
