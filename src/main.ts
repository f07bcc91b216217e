import type { LoggerService } from '@nestjs/common';
import { createApp } from './app.module.js';
import { readSourcesFile } from './asset-check/sources/sources-file.js';
import { type Config, ConfigError, readConfig, WRONG_SETTING } from './config.js';
import { openDatabase } from './embedded-postgres/embedded-postgres.js';
import { stopInOrder } from './http/orderly-stop.js';
import { Readiness } from './http/readiness.js';
import { createLogger } from './logger.js';
import { prepareTables } from './read-models/prepare-tables.js';
import { tellParent, whenAskedToStop } from './supervisor.js';

/** What HOST and PORT name may not be there, or not be ours. */
const asSetting = ({ host, port }: Config, error: unknown): unknown => {
  const { code } = error as { code?: string };
  if (code === 'ENOTFOUND' || code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT')
    return new ConfigError(`HOST is "${host}"; it must be an address of this machine, or a name that stands for one`);
  if (code === 'EACCES') return new ConfigError(`PORT is ${port}; this user may not listen there`);
  return error;
};

interface Start {
  readonly logger: LoggerService;
  readonly release: () => Promise<void>;
  readonly asked: AbortSignal;
}

const serve = async (config: Config, { logger, release, asked }: Start): Promise<void> => {
  const log = (line: string): void => logger.log(line, 'main');
  await prepareTables(config.databaseUrl!, log, asked);
  asked.throwIfAborted();
  const app = await createApp(config, logger);
  const close = async (): Promise<void> => {
    await app.close();
    await release();
  };
  stopInOrder(asked, app.getHttpServer(), app.get(Readiness), close, log);
  await app.listen({ port: config.port, host: config.host }).catch((error: unknown) => {
    throw asSetting(config, error);
  });
  const url = await app.getUrl();
  log(`Listening on ${url}`);
  tellParent({ url });
};

const run = async (config: Config, asked: AbortSignal): Promise<void> => {
  const logger = createLogger(config);
  // Again where it is used; here so that a mistake in it stops the start before anything has started.
  readSourcesFile(config);
  const database = await openDatabase(config, (line) => logger.log(line, 'main')).catch((error: unknown) => {
    // A terminal sends its signal to initdb too, whose words would be about something else.
    asked.throwIfAborted();
    throw error;
  });
  try {
    await serve({ ...config, databaseUrl: database.url }, { logger, release: () => database.release(), asked });
  } catch (error) {
    // A server of our own must not be left behind by a start that failed.
    await database.release();
    throw error;
  }
};

/** What a person can do something about is a sentence; anything else comes with where it happened. */
const sentenceOf = (error: unknown): unknown => {
  if (error instanceof ConfigError) return error.message;
  const { code, address, port } = error as { code?: string; address?: string; port?: number };
  if (code === 'EADDRINUSE') return `${address}:${port} is in use; PORT and HOST name another place to listen`;
  return error;
};

const asked = whenAskedToStop();
try {
  await run(readConfig(), asked);
} catch (error) {
  if (error === asked.reason) {
    console.error(`${error}: ends before it has listened`);
    process.exit(0);
  }
  console.error(sentenceOf(error));
  process.exit(error instanceof ConfigError ? WRONG_SETTING : 1);
}
