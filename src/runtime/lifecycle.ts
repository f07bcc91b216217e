/** How long a process may take to stop once its supervisor is gone. The next process waits for the same port. */
const STOP_TIMEOUT_MS = 3_000;

/**
 * Stops this process when the supervisor that started it is gone. Even `kill -9` of the supervisor closes the channel
 * between the two processes. Does nothing if no supervisor started this process.
 * @param stop stops the process in the same way as SIGTERM
 */
const stopWithParent = (stop: () => void): void => {
  if (!process.connected) return;
  process.once('disconnect', () => {
    stop();
    setTimeout(() => process.exit(1), STOP_TIMEOUT_MS).unref();
  });
  // The channel must not keep alive a process that has finished its work.
  process.channel?.unref();
};

/**
 * Returns a stop signal that aborts on the first SIGTERM or SIGINT, or when the supervisor is gone. Call this function
 * first, so that a signal during the start also stops the process and lets it clean up. A second signal ends the
 * process at once.
 * @returns a signal whose abort reason says who asked the process to stop
 */
export const shutdownSignal = (): AbortSignal => {
  const stop = new AbortController();
  const ask = (who: string): void => {
    if (stop.signal.aborted) process.exit(1);
    stop.abort(who);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => ask(signal));
  stopWithParent(() => ask('The supervisor is gone'));
  return stop.signal;
};

/**
 * Waits for work of the start, until the process is asked to stop.
 * @throws the reason of `stopSignal` once it has aborted, whatever the work does; the work is then abandoned
 */
export const unlessStopped = async <T>(stopSignal: AbortSignal, work: Promise<T>): Promise<T> => {
  const stopped = new Promise<never>((_, reject) => {
    const stop = (): void => reject(stopSignal.reason as Error);
    if (stopSignal.aborted) stop();
    else stopSignal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([work, stopped]);
  } finally {
    // The work may have ended because of the signal, with another error.
    stopSignal.throwIfAborted();
  }
};

/** Notifies the supervisor, if there is one, that this process is ready, and at which URL it listens. */
export const notifySupervisor = (ready: { readonly url?: string }): void => {
  process.send?.(ready);
};
