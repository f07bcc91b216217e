import { Unavailable } from '../errors.js';
import { Backoff, pause } from '../flow/retry.js';

/** How long a log may stay unavailable before work that takes minutes is given up. */
const PATIENCE_MS = 60_000;
const FIRST_BACK_OFF_MS = 100;
const MAX_BACK_OFF_MS = 2_000;

export interface Patience {
  /** Called once when the log becomes unavailable, and once when it answers again, with a sentence for the operator. */
  readonly onWait?: ((sentence: string) => void) | undefined;
  /** Ends the wait. */
  readonly stop?: AbortSignal | undefined;
  readonly patienceMs?: number | undefined;
}

/**
 * Repeats a read of the log while the log is unavailable, for at most 60 s.
 * @throws Unavailable if the log is unavailable for longer; the reason of `stop`; whatever else `read` throws
 */
export const readPatiently = async <Result>(
  read: () => Promise<Result>,
  { onWait, stop, patienceMs = PATIENCE_MS }: Patience = {},
): Promise<Result> => {
  const backoff = new Backoff(FIRST_BACK_OFF_MS, MAX_BACK_OFF_MS);
  let since: number | undefined;
  for (;;) {
    const askedAt = performance.now();
    try {
      const result = await read();
      if (since !== undefined) onWait?.('The log answers again; the work continues');
      return result;
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      stop?.throwIfAborted();
      if (since === undefined)
        onWait?.(`The log is unavailable (${error.message}); waiting for at most ${patienceMs / 1_000} s`);
      since ??= askedAt;
      if (performance.now() - since > patienceMs) throw error;
    }
    await pause(backoff.next(), stop);
    stop?.throwIfAborted();
  }
};
