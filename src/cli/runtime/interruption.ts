import { FAILED } from './output.js';

/** Signals that interrupt a call: Ctrl-C, a supervisor, a closed terminal. */
export const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Calls back at the first signal; a second one ends the process at once.
 * @returns stops listening
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
