import { once } from 'node:events';
import type { Pool } from 'pg';
import { parse as parseDatabaseUrl } from 'pg-connection-string';
import { type Config, ConfigError, readConfig } from '../../runtime/config.js';
import { holdsDatabase } from '../../postgres/embedded/cluster-layout.js';
import { openDatabase } from '../../postgres/embedded/embedded-postgres.js';
import type { EventLog } from '../../event-log/event-log.js';
import { openEventLog } from '../../event-log/open-event-log.js';
import { migrateReadModels, missingReadModelMigrations } from '../../read-models/migrate.js';
import { asConfigError } from '../../postgres/unusable-database.js';
import { requireSessions } from '../../postgres/require-sessions.js';
import { createPool } from '../../postgres/pool.js';
import { say } from '../../runtime/terminal.js';
import { onFirstSignal } from './interruption.js';
import { Interrupted } from './output.js';

/** The log and the database of a command. */
export interface Session {
  readonly log: EventLog;
  readonly pool: Pool;
}

export interface SessionOptions {
  /** True if the work handles signals itself. Otherwise a signal abandons the work. */
  readonly handlesSignals?: boolean;
  /**
   * True for work that must have no timeouts and must keep its connections, such as a rebuild. The work then connects
   * to the database without a pooler.
   */
  readonly withoutTimeouts?: boolean;
  /** True if the tables are migrated even if MIGRATE_ON_START is false. */
  readonly migrates?: boolean;
}

const NO_LIMITS = { statement_timeout: 0, query_timeout: 0, idle_in_transaction_session_timeout: 0 };

/** @throws ConfigError if the tables are not at this version */
const requireTables = async (pool: Pool): Promise<void> => {
  const [first] = await missingReadModelMigrations(pool);
  if (first !== undefined)
    throw new ConfigError(
      `The migration ${first} has not been applied: run \`migrate\` first (MIGRATE_ON_START is false)`,
    );
};

/** Names the database in an error of a connection, such as "connect ECONNREFUSED 10.0.0.7:5432". */
const asUnreachable = (error: unknown, config: Config): unknown => {
  const { syscall, errors } = error as { syscall?: unknown; errors?: unknown };
  if (!/^(connect|getaddrinfo)$/.test(String(syscall)) && !Array.isArray(errors)) return asConfigError(error);
  const reasons = Array.isArray(errors) ? errors.map(String).join('; ') : (error as Error).message;
  return new Error(
    `${databaseOf(config)} is unavailable: ${reasons}. Start PostgreSQL or correct DATABASE_URL, then repeat the call`,
    { cause: error },
  );
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
    // The log is migrated first, because processes that wait for a migration check the read models.
    if (migrates) await (await openEventLog({ ...config, databaseUrl: url, migrates })).close();
    if (migrates || config.migrates) await migrateReadModels(pool, say);
    else await requireTables(pool);
    return await work(pool, url);
  } catch (error) {
    throw asUnreachable(error, config);
  } finally {
    await pool.end();
  }
};

/** Describes the database that the settings name, without user and password. */
const databaseOf = ({ databaseUrl, dataDir, env }: Config): string => {
  if (databaseUrl === undefined) return `the embedded database in DATA_DIR ${dataDir}`;
  const { host, port, database, user } = parseDatabaseUrl(databaseUrl);
  const { PGHOST, PGPORT, PGDATABASE } = env;
  const name = database || PGDATABASE || user;
  return `the database ${name ? `"${name}" ` : ''}at ${host || PGHOST || 'localhost'}:${port || PGPORT || 5432}`;
};

/**
 * Only `start` and `demo` create a database: a call on an empty database would report success although the service uses
 * another database.
 * @param alternative how else the call can do its work, as a sentence
 * @throws ConfigError if the settings name no database; nothing has then been created on disk
 */
export const requireDatabase = ({ databaseUrl, dataDir }: Config, alternative = ''): void => {
  if (databaseUrl === undefined && !holdsDatabase(dataDir))
    throw new ConfigError(
      `There is no database: DATABASE_URL is not set, and DATA_DIR ${dataDir} holds no database. Use the settings of the ` +
        'service: --settings FILE reads its environment file, or set DATABASE_URL or DATA_DIR. Only `start` and `demo` ' +
        `create a database. ${alternative}`.trimEnd(),
    );
};

const sayDatabase = (config: Config): void => {
  const nodes = /^[^:]+:\/\/(?:.*@)?([^/?]*)/.exec(config.eventStoreUrl ?? '')?.[1];
  say(`Working on ${databaseOf(config)}${nodes === undefined ? '' : ` and the log in EventStoreDB at ${nodes}`}`);
};

/**
 * Opens the configured database, whether the service runs or not, and migrates its tables. If this call starts the
 * embedded server, this call also stops the server. A signal during the start of the server takes effect once the start
 * has ended.
 * @throws Interrupted if a signal interrupted the call
 */
export const withDatabase = async <Result>(
  work: (pool: Pool, databaseUrl: string) => Promise<Result>,
  options: SessionOptions = {},
): Promise<Result> => {
  const config = readConfig();
  requireDatabase(config);
  sayDatabase(config);
  const interruption = new AbortController();
  const { signal } = interruption;
  const interrupted = once(signal, 'abort').then(() => Promise.reject(signal.reason as Interrupted));
  interrupted.catch(() => {});
  const stopListening = onFirstSignal((name) =>
    interruption.abort(new Interrupted(`${name}: the call was interrupted`)),
  );
  const database = await openDatabase(config, say).catch((error: unknown) => {
    // Ctrl-C also reaches initdb, whose error would be misleading.
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

/** Opens the database and the log. */
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
