import { ConfigError, EXIT_CONFIG, type Config } from './config.js';
import { say } from './terminal.js';
import { logToStderr, type WriteLog } from './log-line.js';
import { setTracing, tracing } from './tracing.js';

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

/** How long a process may take to stop once its supervisor is gone. The next process waits for the same port. */
const STOP_TIMEOUT_MS = 3_000;

/**
 * Stops this process when the supervisor that started it is gone. Even `kill -9` of the supervisor closes the channel
 * between the two processes. Does nothing if no supervisor started this process.
 * @param stop stops the process in the same way as SIGTERM
 */
const stopWithParent = (stop: () => void): void => {
  if (!process.connected) return;
  process.once('disconnect', () => {
    stop();
    setTimeout(() => process.exit(1), STOP_TIMEOUT_MS).unref();
  });
  // The channel must not keep alive a process that has finished its work.
  process.channel?.unref();
};

/**
 * Returns a stop signal that aborts on the first SIGTERM or SIGINT, or when the supervisor is gone. Call this function
 * first, so that a signal during the start also stops the process and lets it clean up. A second signal ends the
 * process at once.
 * @returns a signal whose abort reason says who asked the process to stop
 */
export const shutdownSignal = (): AbortSignal => {
  const stop = new AbortController();
  const ask = (who: string): void => {
    if (stop.signal.aborted) process.exit(1);
    stop.abort(who);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => ask(signal));
  stopWithParent(() => ask('The supervisor is gone'));
  return stop.signal;
};

/**
 * Waits for work of the start, until the process is asked to stop.
 * @throws the reason of `stopSignal` once it has aborted, whatever the work does; the work is then abandoned
 */
export const unlessStopped = async <T>(stopSignal: AbortSignal, work: Promise<T>): Promise<T> => {
  const stopped = new Promise<never>((_, reject) => {
    const stop = (): void => reject(stopSignal.reason as Error);
    if (stopSignal.aborted) stop();
    else stopSignal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([work, stopped]);
  } finally {
    // The work may have ended because of the signal, with another error.
    stopSignal.throwIfAborted();
  }
};

/** Notifies the supervisor, if there is one, that this process is ready, and at which URL it listens. */
export const notifySupervisor = (ready: { readonly url?: string }): void => {
  process.send?.(ready);
};

/**
 * The minimum number of file descriptors. Loading the program needs more than 400 at once, each client connection needs
 * one, and the connections to the databases need some.
 */
export const MIN_DESCRIPTORS = 1_024;

interface UserLimits {
  readonly userLimits?: { readonly open_files?: { readonly soft: number | 'unlimited' } };
}

/**
 * How many file descriptors this process may open. Node has raised the soft limit to the hard limit. Undefined on
 * Windows.
 */
const limit = (): number | undefined => {
  Object.assign(process.report, { excludeNetwork: true });
  const soft = (process.report.getReport() as UserLimits).userLimits?.open_files?.soft;
  return soft === 'unlimited' ? Infinity : soft;
};

/**
 * Ends the process with a clear message if the process cannot open enough files. Must run before anything else is
 * loaded. Otherwise a module would be reported as "not found", or a connection would fail.
 */
export const requireFileDescriptors = (): void => {
  const allowed = limit() ?? Infinity;
  if (allowed >= MIN_DESCRIPTORS) return;
  say(
    `This process may open ${allowed} files and connections (ulimit -n); it needs at least ${MIN_DESCRIPTORS}. ` +
      'Raise the hard limit and start the process again',
  );
  process.exit(EXIT_CONFIG);
};

/**
 * Starts tracing if the settings name a collector. OpenTelemetry is loaded only in that case.
 * @param name the service name, unless OTEL_SERVICE_NAME is set
 */
export const openTracing = async (
  { sampling }: Pick<Config, 'sampling'>,
  name: string,
  writeLog: WriteLog,
): Promise<void> => {
  if (sampling === undefined) return;
  const { startOpenTelemetry } = await import('./opentelemetry.js');
  setTracing(startOpenTelemetry(name, sampling, writeLog));
};

/** Sends the spans that have not been sent yet. Takes at most 2 s. */
export const closeTracing = async (): Promise<void> => {
  await tracing?.close();
};
