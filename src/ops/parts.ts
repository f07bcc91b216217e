import type { EventLog } from '../event-log/event-log.js';
import type { ProjectionLags } from './projection-lag.js';
import type { Readiness } from './readiness.js';

/** A projection further behind than this deserves a look. */
const DEGRADED_AFTER_SECONDS = 10;

/** Registers the log and the read models as parts of a process that needs both. */
export const registerStores = (readiness: Readiness, log: EventLog, lags: ProjectionLags): void => {
  readiness.register('log', async () => ({ state: 'ok', detail: { head: String(await log.forFollowers.head()) } }));
  readiness.register('readModels', async () => {
    const projections = await lags.read();
    const ill = projections.some(({ parked, lagSeconds }) => parked > 0 || lagSeconds > DEGRADED_AFTER_SECONDS);
    // A string: a position may exceed the integers that JSON readers keep exact.
    const shown = projections.map((projection) => ({ ...projection, position: String(projection.position) }));
    return { state: ill ? 'degraded' : 'ok', detail: { projections: shown } };
  });
};
