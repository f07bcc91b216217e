import { Gauge, type Registry } from 'prom-client';
import type { ProjectionLags } from './projection-lag.js';

/**
 * Registers the metrics of the projections.
 * @returns a function that updates the metrics; call it before each scrape
 */
export const addProjectionMetrics = (lags: ProjectionLags, registry: Registry): (() => Promise<void>) => {
  const gauge = (name: string, help: string, labelNames: string[] = ['projection']): Gauge =>
    new Gauge({ name, help, labelNames, registers: [registry] });
  const position = gauge(
    'threat_protection_projection_position',
    'Position up to which each projection has read the log',
  );
  const lag = gauge('threat_protection_projection_lag', 'Positions between a projection and the head of the log', [
    'projection',
    'unit',
  ]);
  const seconds = gauge(
    'threat_protection_projection_lag_seconds',
    'Seconds by which each projection lags behind: all events acknowledged earlier have been applied or parked',
  );
  const parked = gauge(
    'threat_protection_parked_events',
    'Events that a projection could not apply and that wait for an operator',
  );
  const outdated = gauge(
    'threat_protection_projection_outdated',
    '1 if the rows of a projection are of an earlier version and wait for a rebuild; only the projector reports this',
  );
  return async () => {
    // The metrics are reset first, because old values would look current while the database is unavailable.
    for (const metric of [position, lag, seconds, parked, outdated]) metric.reset();
    for (const { projection, unit, ...figures } of await lags.read()) {
      position.set({ projection }, figures.position);
      lag.set({ projection, unit }, figures.lag);
      seconds.set({ projection }, figures.lagSeconds);
      parked.set({ projection }, figures.parked);
      if (figures.isOutdated !== undefined) outdated.set({ projection }, figures.isOutdated ? 1 : 0);
    }
  };
};
