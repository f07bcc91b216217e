import { ConfigError, EXIT_CONFIG } from './config.js';
import { logToStderr } from './log-line.js';

/** The messages that a process logs when it exits. */
export interface ExitMessages {
  /** The `context` of the log line. */
  readonly context: string;
  /** The end of the log line "stopped before …", written if the process was asked to stop while it started. */
  readonly task: string;
  /** Describes an error that is not a `ConfigError`. */
  readonly describeError: (error: unknown) => string;
}

/** Exits with 0 if `error` is the reason of `stopSignal`, with 78 for a `ConfigError`, and otherwise with 1. */
export const exitWith = (
  error: unknown,
  stopSignal: AbortSignal,
  { context, task, describeError }: ExitMessages,
): never => {
  const writeLog = logToStderr(context);
  if (error === stopSignal.reason) {
    writeLog(`${String(error)}: stopped before ${task}`);
    process.exit(0);
  }
  const isConfig = error instanceof ConfigError;
  writeLog(isConfig ? error.message : describeError(error), 'error');
  process.exit(isConfig ? EXIT_CONFIG : 1);
};
