import { userInfo } from 'node:os';
import { createReadStream } from 'node:fs';
import { once } from 'node:events';
import type { Pool } from 'pg';
import { parse as parseDatabaseUrl } from 'pg-connection-string';
import { Invalid, Unavailable } from '../errors.js';
import { isSlug } from '../events/declaring/fields.js';
import { type Config, ConfigError, readConfig } from '../runtime/config.js';
import { withoutRepeats } from '../flow/background.js';
import { holdsDatabase } from '../postgres/embedded/cluster-layout.js';
import { openDatabase } from '../postgres/embedded/embedded-postgres.js';
import type { EventLog } from '../event-log/event-log.js';
import { openEventLog } from '../event-log/open-event-log.js';
import { migrateReadModels, missingReadModelMigrations } from '../read-models/prepare-tables.js';
import {
  asConfigError,
  failureText,
  isRefusal,
  isTransient,
  onConnectionFailure,
} from '../postgres/transient-errors.js';
import { requireSessions, createPool } from '../postgres/pool.js';
import { say } from '../runtime/terminal.js';
import { onFirstSignal, Interrupted } from './output.js';

/** Returns the name of the OS user of the caller, or the user id if the user has no name, as in many containers. */
export const operatorName = (): string => {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
};

/** Maximum size of a secret, which is more than any key or connection string needs. */
const MAX_BYTES = 4_096;

/**
 * Reads a secret from a file. Secrets are not passed on the command line, which every process on the machine can see.
 * @param file the path; `-` is standard input
 * @param what the name of the secret in error messages, which never contain the secret itself
 * @param prefix what may precede the secret
 * @throws Invalid if the file cannot be read, or its text is not one line of visible ASCII
 */
export const readSecret = async (file: string, what: string, prefix = /^/): Promise<string> => {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    const stream = file === '-' ? process.stdin : createReadStream(file, { end: MAX_BYTES });
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > MAX_BYTES) break;
    }
  } catch (error) {
    throw new Invalid(`${what} cannot be read from ${file}: ${(error as Error).message}`);
  }
  const text = Buffer.concat(chunks).toString().replace(prefix, '');
  return requireToken(text, file === '-' ? 'standard input' : file, what);
};

/** Reads an API key from a file that contains the key, or the line `X-API-KEY: KEY` for curl. @throws Invalid */
export const readKeyFile = (file: string): Promise<string> => readSecret(file, 'the key', /^\s*X-API-KEY:/i);

/**
 * @param from the name of the source in error messages
 * @throws Invalid if the text is not one line of visible ASCII
 */
export const requireToken = (text: string, from: string, what: string): string => {
  const secret = text.trim();
  if (secret.length <= MAX_BYTES && /^[\x21-\x7e]+$/.test(secret)) return secret;
  throw new Invalid(`${from} must contain only ${what}, on one line`);
};

/**
 * @param argument the argument or option, for the message
 * @throws Invalid if the text is not a slug
 */
export const requireSlug = (text: string, argument: string): void => {
  if (!isSlug(text)) throw new Invalid(`${argument} must be a slug: 1 to 64 of a-z 0-9 -, not beginning with -`);
};

/** The log and the database of a command. */
export interface Session {
  readonly log: EventLog;
  readonly pool: Pool;
}

interface SessionOptions {
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

/** Whether the database caused an error that may end without another call. A missing file has a code of a connection. */
const isOfDatabase = (error: unknown): boolean =>
  isTransient(error) && !(error instanceof Unavailable) && !Object.hasOwn(error as object, 'path');

/**
 * Says in an error of a database which database failed, and that the call may be repeated.
 * @param error may wrap the error of the database, like the `Unavailable` that a client of the API would see
 */
const asUnreachable = (error: unknown, config: Config): unknown => {
  if (error instanceof ConfigError) return error;
  const cause = [error, (error as Error).cause].find(isOfDatabase);
  if (cause === undefined) return error;
  if (isRefusal(cause)) return new Error(`${failureText(cause)}. Then repeat the call`, { cause });
  const { syscall, errors } = cause as { syscall?: unknown; errors?: unknown };
  const reasons = Array.isArray(errors) ? errors.map(String).join('; ') : failureText(cause);
  const isConnecting = /^(connect|getaddrinfo)$/.test(String(syscall)) || Array.isArray(errors);
  const remedy = isConnecting
    ? 'Start PostgreSQL or correct DATABASE_URL, then repeat the call'
    : 'Repeat the call once the database is available';
  return new Error(`${databaseOf(config)} is unavailable: ${reasons}. ${remedy}`, { cause });
};

/**
 * Connects for the first time. Later, the settings were right once, and the call may be repeated.
 * @throws ConfigError if the database refuses the settings
 */
const atFirst = async <Result>(connect: () => Promise<Result>): Promise<Result> => {
  try {
    return await connect();
  } catch (error) {
    throw asConfigError(error);
  }
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
  onConnectionFailure(withoutRepeats(say).write);
  try {
    await atFirst(async () => {
      await requireSessions(databaseUrl, config);
      // The log is migrated first, because processes that wait for a migration check the read models.
      if (migrates) await (await openEventLog({ ...config, databaseUrl: url, migrates })).close();
      if (migrates || config.migrates) await migrateReadModels(pool, say);
      else await requireTables(pool);
    });
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
    const log = await atFirst(() => openEventLog({ ...readConfig(), databaseUrl }));
    try {
      return await work({ log, pool });
    } finally {
      await log.close();
    }
  }, options);
