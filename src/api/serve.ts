import { inspect } from 'node:util';
import type { LoggerService } from '@nestjs/common';
import { createApp } from './app.module.js';
import { readSourcesFile, type SourcesSettings } from '../asset-check/sources/sources-file.js';
import { type Config, readConfig, requireDatabaseUrl } from '../runtime/config.js';
import {
  exitWith,
  notifySupervisor,
  shutdownSignal,
  unlessStopped,
  closeTracing,
  openTracing,
} from '../runtime/lifecycle.js';
import { protectDataDir } from '../postgres/embedded/embedded-postgres.js';
import { listenAt, requireFreePort } from '../runtime/listen.js';
import { gracefulShutdown } from '../http/server.js';
import { Prometheus } from '../http/ops/prometheus.js';
import { OperatorServer } from '../ops/operator-server.js';
import { Readiness } from '../ops/readiness.js';
import { createLogger, logThrough } from '../runtime/logger.js';
import { prepareTables } from '../read-models/prepare-tables.js';
import { Pool } from 'pg';
import { logStandbys } from '../postgres/pool.js';
import { asConfigError, onConnectionFailure } from '../postgres/transient-errors.js';
import { withoutRepeats } from '../flow/background.js';

interface ServeOptions {
  readonly sources: SourcesSettings;
  readonly logger: LoggerService;
  /** Aborts when the process is asked to stop. */
  readonly stopSignal: AbortSignal;
}

const serve = async (config: Config, { sources, logger, stopSignal }: ServeOptions): Promise<void> => {
  const log = logThrough(logger, 'main');
  await prepareTables(config, log, stopSignal);
  stopSignal.throwIfAborted();
  // Once the first connection has succeeded, every failure is waited for.
  onConnectionFailure(withoutRepeats((line) => log(line, 'warn')).write);
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
    await closeTracing();
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
  const log = logThrough(logger, 'main');
  const databaseUrl = requireDatabaseUrl(config);
  // The sources file is read first, so that a mistake in the file stops the process before anything else has started.
  const sources = readSourcesFile(config);
  const { host, port, opsHost, opsPort } = config;
  const isStopping = (): boolean => stopSignal.aborted;
  await Promise.all([
    requireFreePort({ host, port }, 'PORT', isStopping),
    requireFreePort({ host: opsHost, port: opsPort }, 'OPS_PORT', isStopping),
  ]);
  await openTracing(config, 'threat-protection-api', log);
  await protectDataDir(config, log);
  await unlessStopped(stopSignal, serve({ ...config, databaseUrl }, { sources, logger, stopSignal }));
};

const stopSignal = shutdownSignal();
try {
  await run(readConfig(), stopSignal);
} catch (error) {
  // The signal may have caused the error.
  exitWith(stopSignal.aborted ? stopSignal.reason : asConfigError(error), stopSignal, {
    context: 'main',
    task: 'listening',
    // The error is logged with its stack.
    describeError: inspect,
  });
}
