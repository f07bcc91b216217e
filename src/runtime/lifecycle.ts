/** How long a process whose supervisor died may take to stop. Its successor waits for the port. */
const PATIENCE_MS = 3_000;

/**
 * Stops this process when the supervisor that started it is gone, however it went: `kill -9` too closes the channel
 * between them. Without a supervisor it does nothing.
 * @param stop what a SIGTERM does
 */
const stopWithParent = (stop: () => void): void => {
  if (!process.connected) return;
  process.once('disconnect', () => {
    stop();
    setTimeout(() => process.exit(1), PATIENCE_MS).unref();
  });
  // The channel alone shall not keep a process alive that has nothing more to do.
  process.channel?.unref();
};

/**
 * Aborted by the first signal, or when the supervisor is gone: from the beginning, so that a start too comes to an end
 * that leaves nothing behind. A second signal ends the process at once.
 * @returns with the one who asks as the reason
 */
export const shutdownSignal = (): AbortSignal => {
  const asked = new AbortController();
  const ask = (who: string): void => {
    if (asked.signal.aborted) process.exit(1);
    asked.abort(who);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => ask(signal));
  stopWithParent(() => ask('The supervisor is gone'));
  return asked.signal;
};

/** Tells the supervisor, if there is one, that this process does its work now, and at which address. */
export const notifySupervisor = (ready: { readonly url?: string }): void => {
  process.send?.(ready);
};
