import { once } from 'node:events';
import type { Pool } from 'pg';
import { ConfigError, readConfig } from '../../runtime/config.js';
import { openDatabase } from '../../postgres/embedded/embedded-postgres.js';
import type { EventLog } from '../../event-log/event-log.js';
import { openEventLog } from '../../event-log/open-event-log.js';
import { migrateReadModels, missingOfReadModels } from '../../read-models/migrate.js';
import { asConfigError } from '../../postgres/unusable-database.js';
import { requireSessions } from '../../postgres/require-sessions.js';
import { createPool } from '../../postgres/pool.js';
import { say } from '../../runtime/terminal.js';
import { onFirstSignal } from './interruption.js';
import { Interrupted } from './output.js';

/** The resources of a call. */
export interface Session {
  readonly log: EventLog;
  readonly pool: Pool;
}

export interface SessionOptions {
  /** The work handles signals itself, in its own time. Otherwise it is abandoned. */
  readonly handlesSignals?: boolean;
  /** No statement timeout, and past a pooler, for rebuilds. */
  readonly withoutTimeouts?: boolean;
  /** The tables are brought to this version even where MIGRATE_ON_START is false. */
  readonly migrates?: boolean;
}

const NO_LIMITS = { statement_timeout: 0, query_timeout: 0, idle_in_transaction_session_timeout: 0 };

/** @throws ConfigError if the tables are not at this version */
const requireTables = async (pool: Pool): Promise<void> => {
  const [first] = await missingOfReadModels(pool);
  if (first !== undefined)
    throw new ConfigError(`The tables lack ${first}: call \`migrate\` (MIGRATE_ON_START is false)`);
};

const useDatabase = async <Result>(
  databaseUrl: string,
  work: (pool: Pool, databaseUrl: string) => Promise<Result>,
  { withoutTimeouts = false, migrates = false }: SessionOptions,
): Promise<Result> => {
  const limits = withoutTimeouts ? NO_LIMITS : {};
  const config = readConfig();
  const url = (withoutTimeouts ? config.databaseDirectUrl : undefined) ?? databaseUrl;
  const pool = createPool(url, ({ message }) => say(`A database connection was lost: ${message}`), limits);
  try {
    await requireSessions(databaseUrl, config);
    // The log first: processes that wait for the tables look at the read models.
    if (migrates) await (await openEventLog({ ...config, databaseUrl: url, migrates })).close();
    if (migrates || config.migrates) await migrateReadModels(pool, say);
    else await requireTables(pool);
    return await work(pool, url);
  } catch (error) {
    throw asConfigError(error);
  } finally {
    await pool.end();
  }
};

/**
 * Opens the configured database, whether the service runs or not, and migrates its tables. A server started for this is
 * stopped again, even if a signal interrupts the call half-way through the start, which is therefore awaited.
 * @throws Interrupted
 */
export const withDatabase = async <Result>(
  work: (pool: Pool, databaseUrl: string) => Promise<Result>,
  options: SessionOptions = {},
): Promise<Result> => {
  const interruption = new AbortController();
  const { signal } = interruption;
  const interrupted = once(signal, 'abort').then(() => Promise.reject(signal.reason as Interrupted));
  interrupted.catch(() => {});
  const stopListening = onFirstSignal((name) =>
    interruption.abort(new Interrupted(`${name}: the call was interrupted`)),
  );
  const database = await openDatabase(readConfig(), say).catch((error: unknown) => {
    // A terminal sends its signal to initdb too, whose error would be misleading.
    signal.throwIfAborted();
    throw error;
  });
  try {
    signal.throwIfAborted();
    if (options.handlesSignals !== true)
      return await Promise.race([interrupted, useDatabase(database.url, work, options)]);
    stopListening();
    return await useDatabase(database.url, work, options);
  } finally {
    await database.release();
    stopListening();
  }
};

/** Opens the log too. */
export const withLog = <Result>(
  work: (session: Session) => Promise<Result>,
  options?: SessionOptions,
): Promise<Result> =>
  withDatabase(async (pool, databaseUrl) => {
    const log = await openEventLog({ ...readConfig(), databaseUrl });
    try {
      return await work({ log, pool });
    } finally {
      await log.close();
    }
  }, options);
