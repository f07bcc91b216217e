import { statfs } from 'node:fs/promises';
import { Gauge, Registry, collectDefaultMetrics, Histogram } from 'prom-client';
import { Injectable } from '@nestjs/common';
import { Pool } from 'pg';
import { EventLog } from '../../event-log/event-log.js';
import { timeAppends } from '../../event-log/open-event-log.js';
import { CheckpointPool, ExportPool, MetricsPool, RecordsPool, WatchPool } from '../../read-models/pools.js';
import { Config } from '../../runtime/config.js';
import { ProjectionLags, addProjectionMetrics, createScrape } from '../../ops/projection-lag.js';
import { addWebhookMetrics } from '../../ops/webhook-metrics.js';

/** Exports the size and the free space of the file system of a directory; nothing while the directory does not exist. */
const watchDisk = (directory: string, registry: Registry): void => {
  new Gauge({
    name: 'threat_protection_data_dir_bytes',
    help: 'Size of the file system of DATA_DIR, and its free space for users other than root',
    labelNames: ['state'],
    registers: [registry],
    async collect() {
      // A missing file system must not fail the scrape.
      const stats = await statfs(directory).catch(() => undefined);
      this.reset();
      if (stats === undefined) return;
      this.set({ state: 'size' }, stats.blocks * stats.bsize);
      this.set({ state: 'free' }, stats.bavail * stats.bsize);
    },
  });
};

/** In seconds. A metrics query of a large organization takes tens of milliseconds, an asset check much less. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/**
 * Exports metrics. Features register their metrics in the same injectable `Registry` of prom-client. The default metrics
 * of prom-client include event-loop delay and memory.
 */
@Injectable()
export class Prometheus {
  private readonly requests: Histogram<'method' | 'route' | 'status'>;
  /** Returns all metrics, at most one second old: the database is queried at most once per second. */
  readonly scrape: () => Promise<string>;

  constructor(
    registry: Registry,
    lags: ProjectionLags,
    requests: Pool,
    metrics: MetricsPool,
    records: RecordsPool,
    exports: ExportPool,
    watch: WatchPool,
    checkpoints: CheckpointPool,
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
      help: 'Duration of requests by route and status, from the headers of the request to the end of the response',
      labelNames: ['method', 'route', 'status'],
      buckets: BUCKETS,
      registers,
    });
    new Gauge({
      name: 'threat_protection_database_pool_connections',
      help: 'Connections per pool of the read models, and queries waiting for a connection',
      labelNames: ['pool', 'state'],
      registers,
      collect() {
        for (const [name, pool] of Object.entries({ requests, metrics, records, exports, watch, checkpoints })) {
          this.set({ pool: name, state: 'idle' }, pool.idleCount);
          this.set({ pool: name, state: 'busy' }, pool.totalCount - pool.idleCount);
          this.set({ pool: name, state: 'waiting' }, pool.waitingCount);
        }
      },
    });
  }

  /**
   * Returns a function that counts the responses of a route. The label is the pattern of the route, because paths are
   * unlimited.
   */
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
