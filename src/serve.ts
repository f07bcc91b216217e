import { inspect } from 'node:util';
import type { LoggerService } from '@nestjs/common';
import { createApp } from './app.module.js';
import { readSourcesFile, type SourcesSettings } from './asset-check/sources/sources-file.js';
import { type Config, readConfig } from './runtime/config.js';
import { exitWith } from './runtime/exit.js';
import { openDatabase } from './postgres/embedded/embedded-postgres.js';
import { AddressInUse, listenAt } from './runtime/listen.js';
import { gracefulShutdown } from './http/graceful-shutdown.js';
import { Prometheus } from './http/ops/prometheus.js';
import { OperatorServer } from './ops/operator-server.js';
import { Readiness } from './ops/readiness.js';
import { createLogger, logThrough } from './runtime/logger.js';
import { prepareTables } from './read-models/prepare-tables.js';
import { notifySupervisor, shutdownSignal } from './runtime/lifecycle.js';
import { Pool } from 'pg';
import { logStandbys } from './postgres/standbys.js';
import { closeTracing, openTracing } from './tracing/open-tracing.js';
import { asConfigError } from './postgres/unusable-database.js';

interface Start {
  readonly sources: SourcesSettings;
  readonly logger: LoggerService;
  readonly release: () => Promise<void>;
  readonly asked: AbortSignal;
}

const serve = async (config: Config, { sources, logger, release, asked }: Start): Promise<void> => {
  const log = logThrough(logger, 'main');
  await prepareTables(config, log, asked);
  asked.throwIfAborted();
  const app = await createApp(config, logger, sources);
  // The embedded server, which listens on a socket alone, has no standby that could be missed.
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
    // Last, so that it says to the end that the process is stopping.
    await ops?.close();
    await Promise.all([release(), closeTracing()]);
  };
  gracefulShutdown(asked, app.getHttpServer(), app.get(Readiness), close, log);
  const opsUrl = ops && (await ops.listen(config.opsHost, opsPort!, 'OPS_PORT'));
  if (opsUrl !== undefined) log(`Metrics and details of health for operators on ${opsUrl}`);
  await listenAt(app, { host: config.host, port: config.port });
  const url = await app.getUrl();
  log(`Listening on ${url}`);
  notifySupervisor({ url });
};

const run = async (config: Config, asked: AbortSignal): Promise<void> => {
  const logger = createLogger(config);
  // First, so that a mistake in it stops the start before anything has started.
  const sources = readSourcesFile(config);
  await openTracing(config, 'threat-protection-api', logThrough(logger, 'main'));
  const database = await openDatabase(config, logThrough(logger, 'main')).catch((error: unknown) => {
    // A terminal sends its signal to initdb too, whose words would be about something else.
    asked.throwIfAborted();
    throw error;
  });
  try {
    await serve(
      { ...config, databaseUrl: database.url },
      { sources, logger, release: () => database.release(), asked },
    );
  } catch (error) {
    // A server of our own must not be left behind by a start that failed.
    await database.release();
    throw error;
  }
};

const asked = shutdownSignal();
try {
  await run(readConfig(), asked);
} catch (error) {
  exitWith(asConfigError(error), asked, {
    context: 'main',
    unbegun: 'listened',
    // What a person can do something about is a sentence; anything else comes with where it happened.
    sentenceOf: (other) => (other instanceof AddressInUse ? other.message : inspect(other)),
  });
}
