import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { EventLog } from '../event-log/event-log.js';
import type { WatchPool } from '../read-models/pools.js';
import type { PortSetting } from '../runtime/listen.js';
import type { WriteLog } from '../runtime/log-line.js';
import { Lanes } from './lanes.js';
import { OperatorServer } from './operator-server.js';
import { registerStores } from './parts.js';
import { ProjectionLags } from './projection-lag.js';
import { addProjectionMetrics } from './projection-metrics.js';
import { Readiness, type Report } from './readiness.js';
import { createScrape } from './scrape.js';
import { addWebhookMetrics } from './webhook-metrics.js';

/** Health and metrics of a worker: a process without an API. */
export class WorkerOps {
  readonly lanes = new Lanes();
  private readonly readiness: Readiness;
  readonly registry = new Registry();
  private scrape = (): Promise<string> => this.registry.metrics();
  private hasBegun = false;
  private readonly server = new OperatorServer({
    stuckLanes: () => this.stuckLanes(),
    readiness: () => this.report(),
    metrics: () => this.scrape(),
  });

  /** @param stopSignal once it aborts, the health check reports `stopping` */
  constructor(
    private readonly writeLog: WriteLog,
    private readonly stopSignal: AbortSignal,
  ) {
    this.readiness = new Readiness(writeLog);
    this.readiness.register('tables', () =>
      this.hasBegun
        ? { state: 'ok' }
        : {
            state: 'unavailable',
            detail: 'The tables have not been migrated to this version of the service yet; see the log',
          },
    );
    this.readiness.register('lanes', () => ({
      state: this.lanes.stuck().length > 0 ? 'degraded' : 'ok',
      detail: Object.fromEntries(
        this.lanes.list().map(({ lane, isHeld }) => [lane, isHeld ? 'working' : 'standing by']),
      ),
    }));
  }

  /**
   * Starts to listen. Call this method before the process starts its other parts, so that the health of the process can
   * be observed.
   * @throws ConfigError or AddressInUse, naming the setting
   */
  async listen(host: string, port: number, portName: PortSetting): Promise<void> {
    const url = await this.server.listen(host, port, portName);
    this.writeLog(`Health and metrics for operators on ${url}`);
  }

  /**
   * Adds the log and the read models to health and metrics, once the tables have been migrated to this version of the
   * service.
   * @param subject whose metrics are added
   * @param versions the current version of each projection, to report outdated rows
   */
  addStores(
    log: EventLog,
    pool: WatchPool,
    subject: 'projections' | 'webhooks',
    versions?: ReadonlyMap<string, number>,
  ): void {
    const lags = new ProjectionLags(log, pool, versions);
    registerStores(this.readiness, log, lags);
    const { registry, lanes } = this;
    collectDefaultMetrics({ register: registry });
    new Gauge({
      name: 'threat_protection_projector_lane_leader',
      help: '1 if this process works in the lane, 0 if it stands by',
      labelNames: ['lane'],
      registers: [registry],
      collect() {
        for (const { lane, isHeld } of lanes.list()) this.set({ lane }, isHeld ? 1 : 0);
      },
    });
    this.scrape = createScrape(registry, [
      subject === 'projections' ? addProjectionMetrics(lags, registry) : addWebhookMetrics(pool, registry),
    ]);
    this.hasBegun = true;
  }

  close(): Promise<void> {
    return this.server.close();
  }

  private report(): Promise<Report> {
    this.readiness.stopping = this.stopSignal.aborted;
    return this.readiness.report();
  }

  /** While the database is unavailable, no lane counts as stuck, because a restart would not help. */
  private async stuckLanes(): Promise<readonly string[]> {
    const lanes = this.lanes.stuck();
    return lanes.length === 0 || (await this.readiness.report()).status === 'not-ready' ? [] : lanes;
  }
}
