import type { Config } from '../runtime/config.js';
import type { WriteLog } from '../runtime/log-line.js';
import { setTracing, tracing } from './tracing.js';

/**
 * Begins to trace, if the settings name a collector. OpenTelemetry is loaded only then.
 * @param name of the process, unless OTEL_SERVICE_NAME names it
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

/** Sends what has not been sent yet. Takes two seconds at most. */
export const closeTracing = async (): Promise<void> => {
  await tracing?.close();
};
