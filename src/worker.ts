import { parseArgs } from 'node:util';
import type { EventLog } from './event-log/event-log.js';
import { openEventLog } from './event-log/open-event-log.js';
import { WorkerOps } from './ops/worker-ops.js';
import { openDatabase } from './postgres/embedded/embedded-postgres.js';
import { asConfigError } from './postgres/unusable-database.js';
import { prepareTables } from './read-models/prepare-tables.js';
import { type Config, readConfig } from './runtime/config.js';
import { exitWith } from './runtime/exit.js';
import { notifySupervisor, shutdownSignal } from './runtime/lifecycle.js';
import type { WriteLog } from './runtime/log-line.js';
import { createLogger, logThrough } from './runtime/logger.js';
import { closeTracing, openTracing } from './tracing/open-tracing.js';

/** What a worker has, once the tables are at this version. */
export interface WorkerResources {
  readonly config: Config;
  /** The database's address. */
  readonly url: string;
  readonly log: EventLog;
  readonly ops: WorkerOps;
  readonly writeLog: WriteLog;
}

const PORTS = { PROJECTOR_OPS_PORT: 'projectorOpsPort', DELIVERIES_OPS_PORT: 'deliveriesOpsPort' } as const;

interface Worker {
  /** As its lines of the log name it. */
  readonly context: string;
  /** As a sentence names it. */
  readonly name: string;
  /** What it ends before, if it was asked to end while it started. */
  readonly unbegun: string;
  /** The setting of its operators' port; `OPS_PORT` if that is absent. */
  readonly port: keyof typeof PORTS;
  /** Works until `asked` aborts. */
  readonly work: (means: WorkerResources, asked: AbortSignal) => Promise<void>;
}

const run = async ({ context, port, work }: Worker, config: Config, asked: AbortSignal): Promise<void> => {
  const writeLog = logThrough(createLogger(config), context);
  await openTracing(config, `threat-protection-${context}`, writeLog);
  const ops = new WorkerOps(writeLog, asked);
  const own = config[PORTS[port]];
  const number = own ?? config.opsPort;
  if (number !== undefined) await ops.listen(config.opsHost, number, own === undefined ? 'OPS_PORT' : port);
  const database = await openDatabase(config, writeLog);
  try {
    const { url } = database;
    const opened = { ...config, databaseUrl: url };
    await prepareTables(opened, writeLog, asked);
    asked.throwIfAborted();
    const log = await openEventLog(opened);
    try {
      notifySupervisor({});
      await work({ config: opened, url, log, ops, writeLog }, asked);
    } finally {
      await log.close();
    }
  } finally {
    await Promise.all([database.release(), closeTracing()]);
    // Last, so that it says to the end that the process is stopping.
    await ops.close();
  }
};

/** Is a worker's process: a process without an API. Ends it when its work has ended. */
export const runWorker = async (worker: Worker): Promise<never> => {
  const asked = shutdownSignal();
  try {
    // Rejects arguments: somebody who passes them expects something else to run.
    parseArgs();
    await run(worker, readConfig(), asked);
    process.exit(0);
  } catch (error) {
    const { context, unbegun, name } = worker;
    return exitWith(asConfigError(error), asked, {
      context,
      unbegun,
      sentenceOf: (other) => `${name} failed: ${other instanceof Error ? other.message : String(other)}`,
    });
  }
};
