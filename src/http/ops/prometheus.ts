import { Injectable } from '@nestjs/common';
import { Pool } from 'pg';
import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { EventLog } from '../../event-log/event-log.js';
import { timeAppends } from '../../event-log/timed-appends.js';
import { MetricsPool, WatchPool } from '../../read-models/pools.js';
import { Config } from '../../runtime/config.js';
import { watchDisk } from './disk.js';
import { ProjectionLags } from './projection-lag.js';
import { watchWebhooks } from './webhook-figures.js';

/** Seconds. A metrics query of a large organization takes tens of milliseconds, an authenticated check much less. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

const SHARED_FOR_MS = 1_000;

/**
 * Exports metrics. Features register theirs in the same injectable `Registry` of prom-client, whose defaults cover
 * event-loop delay and memory.
 */
@Injectable()
export class Prometheus {
  private readonly requests: Histogram<'method' | 'route' | 'status'>;
  private readonly up: Gauge;
  private readonly position: Gauge;
  private readonly lag: Gauge;
  private readonly seconds: Gauge;
  private readonly parked: Gauge;
  private readonly readWebhooks: () => Promise<void>;
  private shared: { readonly text: Promise<string>; until: number } | undefined;

  constructor(
    private readonly registry: Registry,
    private readonly lags: ProjectionLags,
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
    this.readWebhooks = watchWebhooks(watch, registry);
    this.requests = new Histogram({
      name: 'http_request_duration_seconds',
      help: 'Requests by route and status, from headers read to answer sent',
      labelNames: ['method', 'route', 'status'],
      buckets: BUCKETS,
      registers,
    });
    const gauge = (name: string, help: string, labelNames: string[] = ['projection']): Gauge =>
      new Gauge({ name, help, labelNames, registers });
    this.up = new Gauge({
      name: 'read_models_up',
      help: 'Whether the log and the read models answered this scrape',
      registers,
    });
    this.position = gauge('projection_position', 'How far each projection has read the log');
    this.lag = gauge('projection_lag', 'Positions between a projection and the head of the log', [
      'projection',
      'unit',
    ]);
    this.seconds = gauge('projection_lag_seconds', 'Age of the instant up to which everything is counted');
    this.parked = gauge('parked_events', 'Events a projection could not apply, waiting for an operator');
    new Gauge({
      name: 'database_pool_connections',
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

  /** All metrics, at most a second old: however many scrape, the database is queried once per second. */
  scrape(): Promise<string> {
    const now = performance.now();
    if (this.shared === undefined || now >= this.shared.until) {
      const shared = { text: this.collect(), until: Infinity };
      const keep = (): number => (shared.until = performance.now() + SHARED_FOR_MS);
      shared.text.then(keep, keep);
      this.shared = shared;
    }
    return this.shared.text;
  }

  private async collect(): Promise<string> {
    // While the database is unavailable, old figures would look current.
    for (const gauge of [this.position, this.lag, this.seconds, this.parked]) gauge.reset();
    try {
      for (const { projection, unit, ...figures } of await this.lags.read()) {
        this.position.set({ projection }, figures.position);
        this.lag.set({ projection, unit }, figures.lag);
        this.seconds.set({ projection }, figures.lagSeconds);
        this.parked.set({ projection }, figures.parked);
      }
      await this.readWebhooks();
      this.up.set(1);
    } catch {
      this.up.set(0);
    }
    return this.registry.metrics();
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
