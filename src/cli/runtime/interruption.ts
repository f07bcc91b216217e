import { FAILED } from './output.js';

/** Signals that interrupt a call. Ctrl-C, a supervisor and a closed terminal send these signals. */
export const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Calls `onSignalled` on the first signal. A second signal ends the process at once.
 * @returns a function that stops listening for signals
 */
export const onFirstSignal = (onSignalled: (signal: NodeJS.Signals) => void): (() => void) => {
  let isSignalled = false;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (isSignalled) process.exit(FAILED);
    isSignalled = true;
    onSignalled(signal);
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return () => {
    for (const signal of SIGNALS) process.off(signal, onSignal);
  };
};
