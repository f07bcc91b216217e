import type { EventLog } from '../event-log/event-log.js';
import type { ProjectionLags } from './projection-lag.js';
import type { Readiness } from './readiness.js';

/** A projection that lags behind by more than this is reported as degraded. */
const DEGRADED_AFTER_SECONDS = 10;

/** Adds the log and the read models to the health check of a process that needs both. */
export const registerStores = (readiness: Readiness, log: EventLog, lags: ProjectionLags): void => {
  readiness.register('log', async () => ({ state: 'ok', detail: { head: String(await log.forSubscriptions.head()) } }));
  readiness.register('readModels', async () => {
    const projections = await lags.read();
    const isDegraded = projections.some(
      ({ parked, lagSeconds, isOutdated }) => parked > 0 || isOutdated === true || lagSeconds > DEGRADED_AFTER_SECONDS,
    );
    // Positions are strings, because they may exceed the integers that JSON readers represent exactly.
    const details = projections.map((projection) => ({ ...projection, position: String(projection.position) }));
    return { state: isDegraded ? 'degraded' : 'ok', detail: { projections: details } };
  });
};
