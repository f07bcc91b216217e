import { Gauge, type Registry } from 'prom-client';
import { Injectable, Optional } from '@nestjs/common';
import type { Clock } from '../flow/time.js';
import { singleFlight } from '../flow/shared-work.js';
import { VERSION } from '../runtime/version.js';
import { EventLog } from '../event-log/event-log.js';
import { WatchPool } from '../read-models/pools.js';
import { READ_PROJECTION_CHECKPOINTS } from '../read-models/checkpoints.js';
import type { Readiness } from './readiness.js';

/** How long a result is returned to further scrapes. */
const SHARED_FOR_MS = 1_000;

/**
 * Creates the function that returns all metrics for Prometheus. A result is shared for 1 s, so the database is queried
 * at most once a second however many clients scrape.
 * @param updates functions that each reset some metrics and then read their values from the log or the database
 */
export const createScrape = (
  registry: Registry,
  updates: readonly (() => Promise<void>)[],
  clock?: Pick<Clock, 'now'>,
): (() => Promise<string>) => {
  const up = new Gauge({
    name: 'threat_protection_read_models_up',
    help: '1 if the log and the read models answered during this scrape, otherwise 0',
    registers: [registry],
  });
  new Gauge({
    name: 'threat_protection_build_info',
    help: 'Always 1; the label is the version of the service',
    labelNames: ['version'],
    registers: [registry],
  }).set({ version: VERSION }, 1);
  const collect = async (): Promise<string> => {
    const read = await Promise.allSettled(updates.map((update) => update()));
    up.set(read.every(({ status }) => status === 'fulfilled') ? 1 : 0);
    return registry.metrics();
  };
  return singleFlight(collect, SHARED_FOR_MS, clock);
};

/** The progress of one projection. */
interface ProjectionLag {
  readonly projection: string;
  readonly position: number;
  /** Distance between the projection and the head of the log, in `unit`. */
  readonly lag: number;
  readonly unit: 'events' | 'bytes';
  /** Every event acknowledged longer ago than this has been applied or parked. */
  readonly lagSeconds: number;
  /** Number of events that the projection could not apply and that wait for an operator. */
  readonly parked: number;
  /**
   * Whether the rows are of an earlier version of the projection and wait for a rebuild. Undefined in a process that does
   * not know the versions.
   */
  readonly isOutdated: boolean | undefined;
}

/** Reads the progress of all projections, for health checks and metrics. */
@Injectable()
export class ProjectionLags {
  constructor(
    private readonly log: EventLog,
    private readonly pool: WatchPool,
    /** The current version of each projection; undefined in a process that does not know the versions. */
    @Optional() private readonly versions?: ReadonlyMap<string, number>,
  ) {}

  async read(): Promise<ProjectionLag[]> {
    // The head is read first, but a projection may advance in between, so the lag is at least 0.
    const head = Number(await this.log.forSubscriptions.head());
    const rows = await READ_PROJECTION_CHECKPOINTS.run(this.pool, {});
    return rows.map(({ projection, position, age, parked, version }) => ({
      projection,
      position,
      lag: Math.max(0, head - position),
      unit: this.log.positionUnit,
      lagSeconds: age / 1000,
      parked,
      isOutdated: this.versions && version < (this.versions.get(projection) ?? version),
    }));
  }
}

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
