import { ConfigError, EXIT_CONFIG } from './config.js';
import { logToStderr } from './log-line.js';

/** How a process speaks of its end. */
export interface ExitMessages {
  /** As its lines of the log name it. */
  readonly context: string;
  /** What it ends before, if it was asked to end while it started. */
  readonly unbegun: string;
  /** What is said of an error that no setting fixes. */
  readonly sentenceOf: (error: unknown) => string;
}

/** Ends a process whose work has ended with an error, or with the reason of `asked`. */
export const exitWith = (error: unknown, asked: AbortSignal, { context, unbegun, sentenceOf }: ExitMessages): never => {
  const writeLog = logToStderr(context);
  if (error === asked.reason) {
    writeLog(`${String(error)}: ends before it has ${unbegun}`);
    process.exit(0);
  }
  const isConfig = error instanceof ConfigError;
  writeLog(isConfig ? error.message : sentenceOf(error), 'error');
  process.exit(isConfig ? EXIT_CONFIG : 1);
};
