import type { Config } from '../config.js';
import type { WriteLog } from '../log-line.js';
import { setTracing, tracing } from './tracing.js';

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
