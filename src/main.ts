import { setTimeout as sleep } from 'node:timers/promises';
import type { LoggerService } from '@nestjs/common';
import { createApp } from './app.module.js';
import { readSourcesFile } from './asset-check/sources/sources-file.js';
import { type Config, ConfigError, readConfig } from './config.js';
import { openDatabase } from './embedded-postgres/embedded-postgres.js';
import { stopOnSignal } from './http/orderly-stop.js';
import { Readiness } from './http/readiness.js';
import { createLogger } from './logger.js';
import { migrate } from './read-models/migrate.js';
import { createPool } from './read-models/pool.js';
import { isTransient } from './read-models/unavailable.js';
import { stopWithParent, tellParent } from './stop-with-parent.js';

const MOST_BACK_OFF_MS = 5_000;

/** Brings the tables to this version, however long the database takes to come. */
const prepareTables = async (url: string, log: (line: string) => void): Promise<void> => {
  for (let wait = 250; ; wait = Math.min(wait * 2, MOST_BACK_OFF_MS)) {
    const pool = createPool(url, () => undefined, { max: 1 });
    try {
      return await migrate(pool);
    } catch (error) {
      if (!isTransient(error)) throw error;
      log(`The database is away: ${(error as Error).message}; trying again in ${wait} ms`);
    } finally {
      await pool.end();
    }
    await sleep(wait);
  }
};

const serve = async (config: Config, release: () => Promise<void>, logger: LoggerService): Promise<void> => {
  const log = (line: string): void => logger.log(line, 'main');
  await prepareTables(config.databaseUrl!, log);
  const app = await createApp(config, logger);
  const close = async (): Promise<void> => {
    await app.close();
    await release();
  };
  const stop = stopOnSignal(app.getHttpServer(), app.get(Readiness), close, log);
  stopWithParent(stop);
  await app.listen({ port: config.port, host: config.host });
  const url = await app.getUrl();
  log(`Listening on ${url}`);
  tellParent({ url });
};

const run = async (config: Config): Promise<void> => {
  const logger = createLogger(config);
  // Again where it is used; here so that a mistake in it stops the start before anything has started.
  readSourcesFile(config);
  const database = await openDatabase(config, (line) => logger.log(line, 'main'));
  try {
    await serve({ ...config, databaseUrl: database.url }, () => database.release(), logger);
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
  if (code === 'EACCES' && port !== undefined) return `This user may not listen on port ${port}; PORT names another`;
  return error;
};

try {
  await run(readConfig());
} catch (error) {
  console.error(sentenceOf(error));
  process.exit(1);
}
