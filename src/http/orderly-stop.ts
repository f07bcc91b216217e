import { setTimeout as sleep } from 'node:timers/promises';
import type { Readiness } from './readiness.js';

/** Long enough for a balancer, or a client with an open connection, to learn that it should go elsewhere. */
const GRACE_MS = 500;
const LONGEST_MS = 9_500;

/**
 * On SIGTERM or SIGINT: not ready, then `connection: close` on every answer, then the requests in flight, then `close`,
 * then the end of the process. It ends within 10 seconds, whatever hangs; a second signal ends it at once.
 * @param close ends everything; resolves when nothing is pending any more
 * @returns what stops the process just so without a signal
 */
export const stopOnSignal = (
  readiness: Readiness,
  close: () => Promise<void>,
  log: (line: string) => void,
): (() => void) => {
  const stop = async (signal: string): Promise<void> => {
    if (readiness.stopping) process.exit(1);
    readiness.stopping = true;
    log(`${signal}: answering what is under way, then ending`);
    setTimeout(() => {
      log(`Not everything ended within ${LONGEST_MS} ms`);
      process.exit(1);
    }, LONGEST_MS).unref();
    await sleep(GRACE_MS);
    try {
      await close();
      process.exit(0);
    } catch (error) {
      log(`Did not end well: ${(error as Error).stack}`);
      process.exit(1);
    }
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop(signal));
  return () => void stop('The supervisor is gone');
};
