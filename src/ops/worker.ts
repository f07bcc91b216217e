import { parseArgs } from 'node:util';
import type { EventLog } from '../event-log/event-log.js';
import { openEventLog } from '../event-log/open-event-log.js';
import { WorkerOps } from './worker-ops.js';
import { openDatabase } from '../postgres/embedded/embedded-postgres.js';
import { asConfigError } from '../postgres/unusable-database.js';
import { prepareTables } from '../read-models/prepare-tables.js';
import { type Config, readConfig } from '../runtime/config.js';
import { exitWith } from '../runtime/exit.js';
import { notifySupervisor, shutdownSignal, unlessStopped } from '../runtime/lifecycle.js';
import type { WriteLog } from '../runtime/log-line.js';
import { createLogger, logThrough } from '../runtime/logger.js';
import { closeTracing, openTracing } from '../runtime/tracing/open-tracing.js';

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

const run = async ({ context, portSetting, work }: Worker, config: Config, stopSignal: AbortSignal): Promise<void> => {
  const writeLog = logThrough(createLogger(config), context);
  await openTracing(config, `threat-protection-${context}`, writeLog);
  const ops = new WorkerOps(writeLog, stopSignal);
  const ownPort = config[PORTS[portSetting]];
  const portNumber = ownPort ?? config.opsPort;
  if (portNumber !== undefined)
    await ops.listen(config.opsHost, portNumber, ownPort === undefined ? 'OPS_PORT' : portSetting);
  const database = await openDatabase(config, writeLog).catch((error: unknown) => {
    // Ctrl-C also reaches initdb, whose error would be misleading.
    stopSignal.throwIfAborted();
    throw error;
  });
  try {
    const { url } = database;
    const opened = { ...config, databaseUrl: url };
    await unlessStopped(stopSignal, prepareTables(opened, writeLog, stopSignal));
    const log = await unlessStopped(stopSignal, openEventLog(opened));
    try {
      notifySupervisor({});
      await work({ config: opened, url, log, ops, writeLog }, stopSignal);
    } finally {
      await log.close();
    }
  } finally {
    await Promise.all([database.release(), closeTracing()]);
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
    return exitWith(asConfigError(error), stopSignal, {
      context,
      task,
      describeError: (other) => `${name} failed: ${other instanceof Error ? other.message : String(other)}`,
    });
  }
};
