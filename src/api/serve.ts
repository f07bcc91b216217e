import { inspect } from 'node:util';
import type { LoggerService } from '@nestjs/common';
import { createApp } from './app.module.js';
import { readSourcesFile, type SourcesSettings } from '../asset-check/sources/sources-file.js';
import { type Config, readConfig } from '../runtime/config.js';
import {
  exitWith,
  notifySupervisor,
  shutdownSignal,
  unlessStopped,
  closeTracing,
  openTracing,
} from '../runtime/lifecycle.js';
import { openDatabase } from '../postgres/embedded/embedded-postgres.js';
import { AddressInUse, listenAt } from '../runtime/listen.js';
import { gracefulShutdown } from '../http/server.js';
import { Prometheus } from '../http/ops/prometheus.js';
import { OperatorServer } from '../ops/operator-server.js';
import { Readiness } from '../ops/readiness.js';
import { createLogger, logThrough } from '../runtime/logger.js';
import { prepareTables } from '../read-models/prepare-tables.js';
import { Pool } from 'pg';
import { logStandbys } from '../postgres/pool.js';
import { asConfigError } from '../postgres/transient-errors.js';

interface ServeOptions {
  readonly sources: SourcesSettings;
  readonly logger: LoggerService;
  readonly release: () => Promise<void>;
  /** Aborts when the process is asked to stop. */
  readonly stopSignal: AbortSignal;
}

const serve = async (config: Config, { sources, logger, release, stopSignal }: ServeOptions): Promise<void> => {
  const log = logThrough(logger, 'main');
  await prepareTables(config, log, stopSignal);
  stopSignal.throwIfAborted();
  const app = await createApp(config, logger, sources);
  // The embedded server listens on a Unix socket only, so it has no standby.
  if (config.eventStoreUrl === undefined && !/[?&]host=/.test(config.databaseUrl!))
    await logStandbys(app.get(Pool), log);
  const { opsPort } = config;
  const ops =
    opsPort === undefined
      ? undefined
      : new OperatorServer({
          stuckLanes: async () => [],
          readiness: () => app.get(Readiness).report(),
          metrics: () => app.get(Prometheus).scrape(),
        });
  const close = async (): Promise<void> => {
    await app.close();
    // The operator server is closed last, so that the health check reports `stopping` until the end.
    await ops?.close();
    await Promise.all([release(), closeTracing()]);
  };
  const opsUrl = ops && (await ops.listen(config.opsHost, opsPort!, 'OPS_PORT'));
  if (opsUrl !== undefined) log(`Metrics and health details for operators on ${opsUrl}`);
  await listenAt(app, { host: config.host, port: config.port });
  // Until here, a signal abandons the start (`run`). A server that does not listen yet cannot be closed.
  stopSignal.throwIfAborted();
  gracefulShutdown(stopSignal, app.getHttpServer(), app.get(Readiness), close, log);
  const url = await app.getUrl();
  log(`Listening on ${url}`);
  notifySupervisor({ url });
};

const run = async (config: Config, stopSignal: AbortSignal): Promise<void> => {
  const logger = createLogger(config);
  // The sources file is read first, so that a mistake in the file stops the process before anything else has started.
  const sources = readSourcesFile(config);
  await openTracing(config, 'threat-protection-api', logThrough(logger, 'main'));
  const database = await openDatabase(config, logThrough(logger, 'main'));
  try {
    const serving = serve(
      { ...config, databaseUrl: database.url },
      { sources, logger, release: () => database.release(), stopSignal },
    );
    await unlessStopped(stopSignal, serving);
  } catch (error) {
    // A failed start must not leave the embedded server running.
    await database.release();
    throw error;
  }
};

const stopSignal = shutdownSignal();
try {
  await run(readConfig(), stopSignal);
} catch (error) {
  // Ctrl-C also reaches initdb, whose error would be misleading.
  exitWith(stopSignal.aborted ? stopSignal.reason : asConfigError(error), stopSignal, {
    context: 'main',
    task: 'listening',
    // An operator can resolve a port that is in use; any other error is logged with its stack.
    describeError: (other) => (other instanceof AddressInUse ? other.message : inspect(other)),
  });
}
