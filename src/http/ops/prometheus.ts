import { Injectable } from '@nestjs/common';
import { Pool } from 'pg';
import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { EventLog } from '../../event-log/event-log.js';
import { timeAppends } from '../../event-log/timed-appends.js';
import { MetricsPool, WatchPool } from '../../read-models/pools.js';
import { Config } from '../../runtime/config.js';
import { watchDisk } from './disk.js';
import { ProjectionLags } from '../../ops/projection-lag.js';
import { addProjectionMetrics } from '../../ops/projection-metrics.js';
import { createScrape } from '../../ops/scrape.js';
import { addWebhookMetrics } from '../../ops/webhook-metrics.js';

/** Seconds. A metrics query of a large organization takes tens of milliseconds, an authenticated check much less. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/**
 * Exports metrics. Features register theirs in the same injectable `Registry` of prom-client, whose defaults cover
 * event-loop delay and memory.
 */
@Injectable()
export class Prometheus {
  private readonly requests: Histogram<'method' | 'route' | 'status'>;
  /** All metrics, at most a second old: however many scrape, the database is queried once per second. */
  readonly scrape: () => Promise<string>;

  constructor(
    registry: Registry,
    lags: ProjectionLags,
    requests: Pool,
    metrics: MetricsPool,
    watch: WatchPool,
    log: EventLog,
    config: Config,
  ) {
    const registers = [registry];
    collectDefaultMetrics({ register: registry });
    timeAppends(log, registry);
    watchDisk(config.dataDir, registry);
    this.scrape = createScrape(registry, [addProjectionMetrics(lags, registry), addWebhookMetrics(watch, registry)]);
    this.requests = new Histogram({
      name: 'threat_protection_http_request_duration_seconds',
      help: 'Requests by route and status, from headers read to answer sent',
      labelNames: ['method', 'route', 'status'],
      buckets: BUCKETS,
      registers,
    });
    new Gauge({
      name: 'threat_protection_database_pool_connections',
      help: 'Connections per pool of the read models, and queries waiting for one',
      labelNames: ['pool', 'state'],
      registers,
      collect() {
        for (const [name, pool] of Object.entries({ requests, metrics, watch })) {
          this.set({ pool: name, state: 'idle' }, pool.idleCount);
          this.set({ pool: name, state: 'busy' }, pool.totalCount - pool.idleCount);
          this.set({ pool: name, state: 'waiting' }, pool.waitingCount);
        }
      },
    });
  }

  /** Counts a route's answers. The label is the route's pattern, never the requested path: those are unlimited. */
  count(method: string, route: string): (status: number, ms: number) => void {
    const observers = new Map<number, (seconds: number) => void>();
    return (status, ms) => {
      let observe = observers.get(status);
      if (observe === undefined) {
        const histogram = this.requests.labels({ method, route, status: String(status) });
        observe = (seconds) => histogram.observe(seconds);
        observers.set(status, observe);
      }
      observe(ms / 1000);
    };
  }
}
