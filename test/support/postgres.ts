import { randomBytes } from 'node:crypto';
import { Pool } from 'pg';
import { LOG_MIGRATIONS } from '../../src/event-log/postgres/schema.js';
import { migrateReadModels } from '../../src/read-models/prepare-tables.js';
import { migrate } from '../../src/postgres/migrator.js';
import { createPool } from '../../src/postgres/pool.js';
import { queryOnce } from './query-once.js';

export interface TestDatabase {
  readonly url: string;
  readonly pool: Pool;
  drop(): Promise<void>;
}

/** Pool settings without timeouts, for the statements of specs. */
export const NO_LIMITS = {
  connectionTimeoutMillis: 0,
  query_timeout: 0,
  statement_timeout: 0,
  lock_timeout: 0,
  idle_in_transaction_session_timeout: 0,
};

const TEMPLATE = 'test_template';

const urlOn = (server: string, name: string): string => {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
};

/** Creates all tables. The log is not opened, so that each copy of the template opens a log of its own. */
const migrateAll = async (pool: Pool): Promise<void> => {
  await migrateReadModels(pool);
  await migrate(pool, 'log', LOG_MIGRATIONS);
};

/** Creates the migrated template database. Copying it is several times as fast as migrating each database. */
export const createTemplate = async (server: string): Promise<void> => {
  await queryOnce(server, `create database ${TEMPLATE}`);
  const pool = createPool(urlOn(server, TEMPLATE), () => {}, NO_LIMITS);
  await migrateAll(pool);
  await pool.end();
};

/** Creates a database on the PostgreSQL of the test run, by default with all tables. */
export const createDatabase = async ({ migrated = true } = {}): Promise<TestDatabase> => {
  const server = process.env['TEST_DATABASE_URL']!;
  // On a server that is not only for this run, a template could be of another version.
  const isServerOurs = process.env['TEST_DATABASE_ENDS_WITH_RUN'] === 'yes';
  const name = `test_${randomBytes(8).toString('hex')}`;
  await queryOnce(server, `create database ${name}${migrated && isServerOurs ? ` template ${TEMPLATE}` : ''}`);
  const url = urlOn(server, name);
  const pool = createPool(url, () => {}, NO_LIMITS);
  if (migrated && !isServerOurs) await migrateAll(pool);
  return {
    url,
    pool,
    drop: async () => {
      await pool.end();
      // Dropping a database waits for a checkpoint. A server that is deleted after the run need not drop its databases.
      await queryOnce(
        server,
        isServerOurs
          ? `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`
          : `drop database ${name} with (force)`,
      );
    },
  };
};
