import { Unavailable } from '../errors.js';
import { Backoff, retry } from '../flow/retry.js';

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
  const retryUntil = performance.now() + timeoutMs;
  let hasWaited = false;
  const pauseAfter = (error: unknown): number | undefined => {
    if (!(error instanceof Unavailable)) return undefined;
    stop?.throwIfAborted();
    if (!hasWaited) onWait?.(`The log is unavailable (${error.message}); waiting for at most ${timeoutMs / 1_000} s`);
    hasWaited = true;
    return performance.now() > retryUntil ? undefined : backoff.next();
  };
  const result = await retry(read, pauseAfter, stop);
  if (hasWaited) onWait?.('The log is available again; the work continues');
  return result;
};
