import { setTimeout as sleep } from 'node:timers/promises';
import { createApp, createLogger } from './app.module.js';
import { type Config, ConfigError, readConfig } from './config.js';
import { openDatabase } from './embedded-postgres/embedded-postgres.js';
import { stopOnSignal } from './http/orderly-stop.js';
import { Readiness } from './http/readiness.js';
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

const run = async (settings: Config): Promise<void> => {
  const logger = createLogger(settings);
  const log = (line: string): void => logger.log(line, 'main');
  const database = await openDatabase(settings, log);
  const config: Config = { ...settings, databaseUrl: database.url };
  await prepareTables(database.url, log);
  const app = await createApp(config, logger);
  const stop = stopOnSignal(
    app.getHttpServer(),
    app.get(Readiness),
    async () => {
      await app.close();
      await database.release();
    },
    log,
  );
  stopWithParent(stop);
  await app.listen({ port: config.port, host: config.host });
  const url = await app.getUrl();
  log(`Listening on ${url}`);
  tellParent({ url });
};

try {
  await run(readConfig());
} catch (error) {
  console.error(error instanceof ConfigError ? error.message : error);
  process.exit(1);
}
