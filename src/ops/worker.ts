import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { parseArgs } from 'node:util';
import type { EventLog } from '../event-log/event-log.js';
import type { WatchPool } from '../read-models/pools.js';
import { type PortSetting, requireFreePort } from '../runtime/listen.js';
import type { WriteLog } from '../runtime/log-line.js';
import { OperatorServer } from './operator-server.js';
import { registerStores, ProjectionLags, addProjectionMetrics, createScrape } from './projection-lag.js';
import { Readiness, type Report } from './readiness.js';
import { addWebhookMetrics } from './webhook-metrics.js';
import { openEventLog } from '../event-log/open-event-log.js';
import { protectDataDir } from '../postgres/embedded/embedded-postgres.js';
import { asConfigError } from '../postgres/transient-errors.js';
import { prepareTables } from '../read-models/prepare-tables.js';
import { type Config, readConfig, requireDatabaseUrl } from '../runtime/config.js';
import {
  exitWith,
  notifySupervisor,
  shutdownSignal,
  unlessStopped,
  closeTracing,
  openTracing,
} from '../runtime/lifecycle.js';
import { createLogger, logThrough } from '../runtime/logger.js';

/** How long a lane may go without a heartbeat before it counts as stuck. */
const STUCK_AFTER_MS = 10_000;

/**
 * A lane is a part of the background work that one process does at a time. That process holds the lease of the lane.
 * This class records for each lane whether this process works in it or stands by, and when its loop last sent a
 * heartbeat.
 */
export class Lanes {
  private readonly states = new Map<string, { readonly isHeld: boolean; readonly at: number }>();

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** @param isHeld true if this process works in the lane; false if it waits for the lease of the lane */
  heartbeat(lane: string, isHeld: boolean): void {
    this.states.set(lane, { isHeld, at: this.now() });
  }

  /** The lanes without a recent heartbeat. */
  stuck(): string[] {
    const oldestAlive = this.now() - STUCK_AFTER_MS;
    return this.list().flatMap(({ lane, at }) => (at < oldestAlive ? [lane] : []));
  }

  list(): { readonly lane: string; readonly isHeld: boolean; readonly at: number }[] {
    return [...this.states].map(([lane, state]) => ({ lane, ...state }));
  }
}

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
   * @throws ConfigError naming the setting
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

/** The open resources of a worker. The tables have been migrated to this version. */
export interface WorkerResources {
  readonly config: Config;
  /** The address of the database. */
  readonly url: string;
  readonly log: EventLog;
  readonly ops: WorkerOps;
  readonly writeLog: WriteLog;
}

const PORTS = { PROJECTOR_OPS_PORT: 'projectorOpsPort', DELIVERIES_OPS_PORT: 'deliveriesOpsPort' } as const;

interface Worker {
  /** The `context` of the worker's log lines. */
  readonly context: string;
  /** The name of the worker at the beginning of a sentence. */
  readonly name: string;
  /** The end of the log line "stopped before …", written if the process is asked to stop while it starts. */
  readonly task: string;
  /** The setting that has the port for health and metrics. If the setting is absent, `OPS_PORT` is used. */
  readonly portSetting: keyof typeof PORTS;
  /** Works until `stopSignal` aborts. */
  readonly work: (resources: WorkerResources, stopSignal: AbortSignal) => Promise<void>;
}

/**
 * Connects for the first time: migrates the tables and opens the log.
 * @throws ConfigError if the database refuses the connection. Afterwards, the work waits for the end of a refusal,
 *   because the settings were right once.
 */
const connect = async (config: Config, writeLog: WriteLog, stopSignal: AbortSignal): Promise<EventLog> => {
  try {
    await prepareTables(config, writeLog, stopSignal);
    stopSignal.throwIfAborted();
    return await openEventLog(config);
  } catch (error) {
    throw asConfigError(error);
  }
};

const run = async ({ context, portSetting, work }: Worker, config: Config, stopSignal: AbortSignal): Promise<void> => {
  const writeLog = logThrough(createLogger(config), context);
  const url = requireDatabaseUrl(config);
  const ownPort = config[PORTS[portSetting]];
  const at = { host: config.opsHost, port: ownPort ?? config.opsPort };
  const portName = ownPort === undefined ? 'OPS_PORT' : portSetting;
  await requireFreePort(at, portName, () => stopSignal.aborted);
  await openTracing(config, `threat-protection-${context}`, writeLog);
  const ops = new WorkerOps(writeLog, stopSignal);
  if (at.port !== undefined) await ops.listen(at.host, at.port, portName);
  try {
    await protectDataDir(config, writeLog);
    const log = await unlessStopped(stopSignal, connect(config, writeLog, stopSignal));
    try {
      notifySupervisor({});
      await work({ config, url, log, ops, writeLog }, stopSignal);
    } finally {
      await log.close();
    }
  } finally {
    await closeTracing();
    // The operator server is closed last, so that the health check reports `stopping` until the end.
    await ops.close();
  }
};

/** Runs a worker, a process without an API, and exits when its work has ended. */
export const runWorker = async (worker: Worker): Promise<never> => {
  const stopSignal = shutdownSignal();
  try {
    // Throws if arguments are given: the caller probably meant to run another program.
    parseArgs();
    await run(worker, readConfig(), stopSignal);
    process.exit(0);
  } catch (error) {
    const { context, task, name } = worker;
    return exitWith(error, stopSignal, {
      context,
      task,
      describeError: (other) => `${name} failed: ${other instanceof Error ? other.message : String(other)}`,
    });
  }
};
