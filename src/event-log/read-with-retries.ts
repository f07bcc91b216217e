import { Unavailable } from '../errors.js';
import { Backoff, pause } from '../flow/retry.js';

/** How long a log may be unavailable before a long task fails. */
const TIMEOUT_MS = 60_000;
const FIRST_BACK_OFF_MS = 100;
const MAX_BACK_OFF_MS = 2_000;

export interface RetryOptions {
  /** Called with a message for the operator when the log becomes unavailable, and when it is available again. */
  readonly onWait?: ((sentence: string) => void) | undefined;
  /** Stops the retries. */
  readonly stop?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
}

/**
 * Repeats a read of the log while the log is unavailable, for at most 60 s.
 * @throws Unavailable if the log is unavailable for longer; the abort reason of `stop`; any other error of `read`
 */
export const readWithRetries = async <Result>(
  read: () => Promise<Result>,
  { onWait, stop, timeoutMs = TIMEOUT_MS }: RetryOptions = {},
): Promise<Result> => {
  const backoff = new Backoff(FIRST_BACK_OFF_MS, MAX_BACK_OFF_MS);
  let unavailableSince: number | undefined;
  for (;;) {
    const startedAt = performance.now();
    try {
      const result = await read();
      if (unavailableSince !== undefined) onWait?.('The log is available again; the work continues');
      return result;
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      stop?.throwIfAborted();
      if (unavailableSince === undefined)
        onWait?.(`The log is unavailable (${error.message}); waiting for at most ${timeoutMs / 1_000} s`);
      unavailableSince ??= startedAt;
      if (performance.now() - unavailableSince > timeoutMs) throw error;
    }
    await pause(backoff.next(), stop);
    stop?.throwIfAborted();
  }
};
