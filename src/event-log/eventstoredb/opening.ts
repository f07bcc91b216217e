import { Logger } from '@nestjs/common';
import { ConfigError } from '../../runtime/config.js';
import { Unavailable } from '../../errors.js';
import { Backoff, retry } from '../../flow/retry.js';
import { DeniedByStore } from './failures.js';

const TIMEOUT_MS = 20_000;
const MAX_PAUSE_MS = 400;
/** After this time without an answer, the operator is told what is awaited. */
const TELL_AFTER_MS = 3_000;

const TLS_ERROR = /certificate|self.signed|\bSSL\b|\bTLS\b|wrong version number|packet length too long/i;

/**
 * Opens the log. Says after some seconds which address is awaited. Retries for up to 20 s, because the store may still be starting.
 * @param hosts where the store is awaited
 * @throws ConfigError if the store denies access, or no trusted connection is possible
 * @throws Unavailable if no store responds within 20 s
 */
export const openWithRetries = (hosts: string, open: () => Promise<void>): Promise<void> => {
  const giveUpAt = performance.now() + TIMEOUT_MS;
  const backoff = new Backoff(MAX_PAUSE_MS, MAX_PAUSE_MS);
  const telling = setTimeout(
    () =>
      new Logger('event-log').warn(`Waiting for the event store at ${hosts} (EVENTSTORE_URL), which does not answer`),
    TELL_AFTER_MS,
  );
  return retry(open, (error) => {
    const denial = error instanceof DeniedByStore ? error : (error as Error).cause;
    const reason = (denial instanceof Error ? denial : (error as Error)).message.replace(/\s+/g, ' ').trim();
    if (denial instanceof DeniedByStore)
      throw new ConfigError(`EVENTSTORE_URL: the event store refuses this user and password (${reason})`);
    if (TLS_ERROR.test(reason))
      throw new ConfigError(
        `EVENTSTORE_URL: no trusted connection to the event store (${reason}); name its certificate authority with tlsCAFile, or set tls=false if it does not use TLS`,
      );
    if (!(error instanceof Unavailable)) return undefined;
    if (performance.now() > giveUpAt)
      throw new Unavailable(
        `EVENTSTORE_URL: the event store did not answer for ${TIMEOUT_MS / 1_000} s (${reason})`,
        1,
        { cause: error },
      );
    return backoff.next();
  }).finally(() => clearTimeout(telling));
};
