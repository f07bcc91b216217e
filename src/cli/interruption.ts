import { FAILED } from './output.js';

/** What ends a call: Ctrl-C, a supervisor, a terminal that is closed. */
export const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Calls back at the first signal; a second one ends the process at once.
 * @returns what stops listening
 */
export const onFirstSignal = (then: (signal: NodeJS.Signals) => void): (() => void) => {
  let came = false;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (came) process.exit(FAILED);
    came = true;
    then(signal);
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return () => {
    for (const signal of SIGNALS) process.off(signal, onSignal);
  };
};
