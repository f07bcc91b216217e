const MAX_ATTEMPTS = 10;

/** The bare client waits for a server that pauses, however long; the adapter gives up after 1.8 s, and is asked again. */
export const untilTaken = async <T>(work: () => Promise<T>): Promise<T> => {
  for (let attempt = 1; ; attempt += 1)
    try {
      return await work();
    } catch (error) {
      if (attempt === MAX_ATTEMPTS || !/did not answer/.test((error as Error).message)) throw error;
    }
};

/** The address of a log apart from others in the store. */
export const withPrefix = (url: string, prefix: string): string =>
  `${url}${url.includes('?') ? '&' : '?'}streamPrefix=${prefix}`;
