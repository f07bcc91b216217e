import type { Pool } from 'pg';
import { readConfig } from '../config.js';
import { openDatabase } from '../embedded-postgres/embedded-postgres.js';
import type { EventLog } from '../event-log/event-log.js';
import { openEventLog } from '../event-log/open-event-log.js';
import { migrate } from '../read-models/migrate.js';
import { createPool } from '../read-models/pool.js';
import { say } from './output.js';

/** What a call works with. */
export interface Session {
  readonly log: EventLog;
  readonly pool: Pool;
}

/** Opens the database of the settings, whether the service runs or not, with its tables at this version. */
export const withDatabase = async <Result>(
  work: (pool: Pool, databaseUrl: string) => Promise<Result>,
): Promise<Result> => {
  const database = await openDatabase(readConfig(), say);
  const pool = createPool(database.url, ({ message }) => say(`A connection to the database broke: ${message}`));
  try {
    await migrate(pool);
    return await work(pool, database.url);
  } finally {
    await pool.end();
    await database.release();
  }
};

/** Opens the log as well. */
export const withLog = <Result>(work: (session: Session) => Promise<Result>): Promise<Result> =>
  withDatabase(async (pool, databaseUrl) => {
    const log = await openEventLog({ ...readConfig(), databaseUrl });
    try {
      return await work({ log, pool });
    } finally {
      await log.close();
    }
  });
