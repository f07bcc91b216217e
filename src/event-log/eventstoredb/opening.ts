import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigError } from '../../runtime/config.js';
import { Unavailable } from '../../errors.js';
import { RefusedByStore } from './failures.js';

const LIMIT_MS = 20_000;
const MIN_PAUSE_MS = 200;

const ABOUT_TLS = /certificate|self.signed|\bSSL\b|\bTLS\b|wrong version number|packet length too long/i;

/**
 * Opens the log, waiting for a store that is still starting.
 * @throws ConfigError if the store denies access, or no trusted connection is possible
 * @throws Unavailable if no store answers within 20 s
 */
export const openInTime = async (open: () => Promise<void>): Promise<void> => {
  const giveUp = performance.now() + LIMIT_MS;
  for (;;) {
    try {
      return await open();
    } catch (error) {
      const refusal = error instanceof RefusedByStore ? error : (error as Error).cause;
      const reason = (refusal instanceof Error ? refusal : (error as Error)).message.replace(/\s+/g, ' ').trim();
      if (refusal instanceof RefusedByStore)
        throw new ConfigError(`EVENTSTORE_URL: the event store refuses this user and password (${reason})`);
      if (ABOUT_TLS.test(reason))
        throw new ConfigError(
          `EVENTSTORE_URL: no trusted connection to the event store (${reason}); name its certificate authority with tlsCAFile, or set tls=false if it does not use TLS`,
        );
      if (!(error instanceof Unavailable)) throw error;
      if (performance.now() > giveUp)
        throw new Unavailable(
          `EVENTSTORE_URL: the event store did not answer for ${LIMIT_MS / 1_000} s (${reason})`,
          1,
          { cause: error },
        );
      await sleep(MIN_PAUSE_MS * (1 + Math.random()));
    }
  }
};
