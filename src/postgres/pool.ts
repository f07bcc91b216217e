import { randomUUID, randomInt } from 'node:crypto';
import { Pool, type PoolClient, type Client, type PoolConfig, type QueryConfig, TypeOverrides } from 'pg';
import { ConfigError, type Config } from '../runtime/config.js';
import {
  type RowOf,
  BACKEND_OF,
  serverOf,
  TracedClient,
  tracedStatement,
  LOCK_IF_FREE,
  LOCK_UNTIL_COMMIT,
  STANDBYS,
} from './statement.js';
import { UnusableDatabase } from './transient-errors.js';
import { tracing } from '../runtime/tracing.js';
import { sessionSetup, setInEachTransaction, type Settings, inTransaction } from './transaction.js';
import type { WriteLog } from '../runtime/log-line.js';
import { limit } from '../limits.js';

/**
 * `session`: a client keeps one server connection, as without a pooler. `transaction`: each transaction may use another
 * server connection, so the service must not rely on the state of a session.
 */
type PoolMode = 'session' | 'transaction';

const POOLER_LIMITS = { max: 2, connectionTimeoutMillis: 2_000, query_timeout: 2_000 };
/** One round may not suffice: behind a busy pooler, two clients may get different server connections by chance. */
const ROUNDS = 10;
/** SQLSTATEs: a prepared statement of this name exists already, or does not exist. */
const STATEMENT_NAME_ERRORS: ReadonlySet<unknown> = new Set<unknown>(['42P05', '26000']);

const LOSES_STATEMENTS =
  'The database URL leads to a pooler in transaction mode that does not track prepared statements: use PgBouncer 1.21 ' +
  'or later with max_prepared_statements above 0, or set pool_mode = session';

/** Two clients take turns to prepare different statements under one name, and compare which server processes respond. */
const compareClients = async (clients: readonly PoolClient[]): Promise<PoolMode> => {
  const name = `pool-mode-${randomUUID()}`;
  const pidsByClient = [new Set<number>(), new Set<number>()] as const;
  for (let round = 0; round < ROUNDS; round += 1)
    for (const client of [0, 1] as const) {
      const { rows } = await clients[client]!.query({ ...BACKEND_OF[client].query({}), name });
      const row = rows[0] as RowOf<(typeof BACKEND_OF)[0]>;
      // The pooler ran the statement that the other client prepared.
      if (row.whose !== client) throw new ConfigError(LOSES_STATEMENTS);
      pidsByClient[client].add(row.pid);
    }
  // In session mode each client has exactly one server connection, and the two connections differ.
  const processes = new Set(pidsByClient.flatMap((pids) => [...pids]));
  return pidsByClient.every(({ size }) => size === 1) && processes.size === pidsByClient.length
    ? 'session'
    : 'transaction';
};

const detectMode = async (connectionString: string): Promise<PoolMode> => {
  const pool = new Pool({ connectionString, ...POOLER_LIMITS });
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  const clients: PoolClient[] = [];
  try {
    for (let n = 0; n < POOLER_LIMITS.max; n += 1) clients.push(await pool.connect());
    return await compareClients(clients);
  } catch (error) {
    throw STATEMENT_NAME_ERRORS.has((error as { code?: unknown }).code) ? new ConfigError(LOSES_STATEMENTS) : error;
  } finally {
    for (const client of clients) client.release(true);
    void pool.end();
  }
};

const detected = new Map<string, Promise<PoolMode>>();

/**
 * Detects the pool mode of a database URL, once per process and URL. If the detection fails, the next call tries again.
 * @throws ConfigError if the pooler loses prepared statements; or the error of the connection
 */
export const poolModeOf = (url: string): Promise<PoolMode> => {
  const known = detected.get(url);
  if (known !== undefined) return known;
  const detection = detectMode(url);
  detected.set(url, detection);
  detection.catch(() => detected.delete(url));
  return detection;
};

const INT8 = 20;
const NUMERIC = 1700;

/**
 * Parses an int8 as a number. The values of this service all fit; a larger value causes an error instead of being
 * rounded.
 */
const safeInteger = (text: string): number => {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`PostgreSQL sent ${text}, which a number cannot hold exactly`);
  return value;
};

/** Encodings of databases that can store every character. SQL_ASCII stores the bytes as they are sent, which is UTF-8. */
const ENCODINGS: ReadonlySet<string> = new Set(['UTF8', 'SQL_ASCII']);

/** The oldest major version of PostgreSQL that has all that the service uses. */
const MIN_MAJOR = 15;

/**
 * @param version as in `server_version_num`: 130023 is 13.23
 * @throws UnusableDatabase if the version is too old
 */
const requireVersion = (version: number): void => {
  const major = Math.floor(version / 10_000);
  if (major < MIN_MAJOR)
    throw new UnusableDatabase(`PostgreSQL ${major}.${version % 10_000} is too old: ${MIN_MAJOR} or later is needed`);
};

/** Types int8 and numeric (sums) are parsed as exact numbers, on all connections of the service. */
const types = new TypeOverrides();
types.setTypeParser(INT8, safeInteger);
types.setTypeParser(NUMERIC, safeInteger);

/** Timeouts in ms. The timeouts are short, because every request must be answered within 5 s. */
const LIMITS = {
  connectionTimeoutMillis: limit('connection for requests', 2_000, 'ms', 'request', '503'),
  query_timeout: 4_500,
  statement_timeout: limit('statement of a request', 4_000, 'ms', 'request', '503'),
  lock_timeout: 2_000,
  idle_in_transaction_session_timeout: 10_000,
} satisfies PoolConfig;

/** Timeouts in ms, and further PostgreSQL `settings` of each connection. */
export interface PoolOptions extends Omit<PoolConfig, 'options' | 'statement_timeout'> {
  readonly statement_timeout?: number;
  readonly settings?: Settings;
  /** Converts the errors of statements. Default: unchanged. */
  readonly toError?: (error: unknown) => unknown;
}

/**
 * How long a connection may stay idle before it is closed. A busy server may need longer to open a connection than a
 * request can wait, so a pause between two bursts of requests must not close all connections.
 */
const IDLE_TIMEOUT_MS = 60_000;

/**
 * A pool whose statements are traced if this process traces, are sent in a transaction if a pooler requires that, and
 * throw converted errors.
 */
class Database extends Pool {
  /** The server of the newest connection: the connection of a statement is not known when its span begins. */
  private newestServer: ReturnType<typeof serverOf> = {};
  /** Known after the first statement. */
  private mode: PoolMode | undefined;
  private readonly toError: (error: unknown) => unknown;

  constructor(
    private readonly url: string,
    { toError = (error) => error, ...config }: PoolConfig & Pick<PoolOptions, 'toError'>,
  ) {
    super({ ...config, connectionString: url, types, ...(tracing !== undefined && { Client: TracedClient }) });
    this.toError = toError;
    this.on('connect', (client) => (this.newestServer = serverOf(client as unknown as Client)));
  }

  /** Has the overloads of `Pool.query`, except those with a callback. */
  override query(...statement: never[]): never {
    return this.send(statement) as never;
  }

  private async send(statement: unknown[]): Promise<unknown> {
    try {
      this.mode ??= await poolModeOf(this.url);
      return await tracedStatement(statement[0] as string | QueryConfig, this.newestServer, () =>
        this.mode === 'session'
          ? (super.query as (...given: unknown[]) => Promise<unknown>).apply(this, statement)
          : inTransaction(this, (connection) => connection.query(...(statement as [QueryConfig]))),
      );
    } catch (error) {
      throw this.toError(error);
    }
  }
}

const openPool = (
  connectionString: string,
  options: PoolOptions,
  mayBeReadOnly: boolean,
  onConnectionLost: (error: Error) => void = () => {},
): Pool => {
  const { statement_timeout, lock_timeout, idle_in_transaction_session_timeout, settings, ...rest } = {
    ...LIMITS,
    ...options,
  };
  const limits = { statement_timeout, lock_timeout, idle_in_transaction_session_timeout };
  const allSettings = {
    ...Object.fromEntries(Object.entries(limits).map(([name, ms]) => [name, String(ms)])),
    ...settings,
  };
  const prepare = async (client: PoolClient): Promise<void> => {
    const mode = await poolModeOf(connectionString);
    if (mode === 'transaction') setInEachTransaction(pool, allSettings);
    const { rows } = await client.query(sessionSetup(mode === 'transaction' ? {} : allSettings));
    const { is_read_only, encoding, version } = (
      rows as { is_read_only: boolean; encoding: string; version: number }[]
    )[0]!;
    requireVersion(version);
    if (!ENCODINGS.has(encoding))
      throw new UnusableDatabase(
        `its encoding is ${encoding}, which cannot store all characters; create a database with encoding 'UTF8' ` +
          'template template0, and name it in DATABASE_URL',
      );
    if (mayBeReadOnly || !is_read_only) return;
    const address = `${client.host}:${client.port}`;
    throw Object.assign(new Error(`${address} does not accept writes: it is a standby, or read-only`), {
      code: '25006',
    });
  };
  const pool: Pool = new Database(connectionString, {
    max: 10,
    idleTimeoutMillis: IDLE_TIMEOUT_MS,
    keepAlive: true,
    ...rest,
    verify: (client, done) => void prepare(client).then(() => done(), done),
  });
  // Without a listener, the loss of an idle connection would end the process.
  pool.on('error', onConnectionLost);
  // Without a listener, the loss of a connection in use between two statements would also end the process. The next
  // statement reports the error.
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
};

/**
 * Creates a pool of connections to the primary. A connection that reaches a server that does not accept writes, such as
 * a standby, is closed, and the next statement connects again.
 * @param onConnectionLost called when an idle connection is lost; the next statement opens a new one
 */
export const createPool = (
  connectionString: string,
  onConnectionLost?: (error: Error) => void,
  options: PoolOptions = {},
): Pool => openPool(connectionString, options, false, onConnectionLost);

/** Creates a pool of connections to servers that may be standbys. */
export const createReplicaPool = (connectionString: string, options: PoolOptions): Pool =>
  openPool(connectionString, options, true);

const DIRECT_URL_MISSING =
  'DATABASE_URL leads to a pooler in transaction mode: set DATABASE_DIRECT_URL to the address of PostgreSQL itself, for ' +
  'work that needs one connection throughout (rebuilds, exports)';
const DIRECT_URL_IS_POOLED =
  'DATABASE_DIRECT_URL leads to a pooler in transaction mode: set it to the address of PostgreSQL itself';
const DIFFERENT_DATABASES =
  'DATABASE_DIRECT_URL and DATABASE_URL lead to different databases: set both to the same one';

/**
 * Whether two URLs lead to the same database: a lock taken through one URL must be visible through the other URL. Needs
 * no special privilege.
 */
const leadToSameDatabase = async (...urls: readonly [string, string]): Promise<boolean> => {
  const key = randomInt(2 ** 47);
  const pools = urls.map((url) => createPool(url, undefined, { max: 1 }));
  try {
    return await inTransaction(pools[0]!, async (connection) => {
      await LOCK_UNTIL_COMMIT.plan(connection, { key });
      const [row] = await LOCK_IF_FREE.plan(pools[1]!, { key });
      return !row!.is_locked;
    });
  } finally {
    await Promise.all(pools.map((pool) => pool.end()));
  }
};

/**
 * Checks that `databaseDirectUrl` or, if it is not set, `databaseUrl` gives a client one server connection throughout.
 * @throws ConfigError if that URL leads to a pooler in transaction mode, or if the URLs lead to different databases; or
 *   the error of a connection
 */
export const requireSessions = async (
  databaseUrl: string,
  { databaseDirectUrl }: Pick<Config, 'databaseDirectUrl'>,
): Promise<void> => {
  const mode = await poolModeOf(databaseUrl);
  if (databaseDirectUrl === undefined) {
    if (mode === 'transaction') throw new ConfigError(DIRECT_URL_MISSING);
    return;
  }
  if ((await poolModeOf(databaseDirectUrl)) === 'transaction') throw new ConfigError(DIRECT_URL_IS_POOLED);
  if (!(await leadToSameDatabase(databaseUrl, databaseDirectUrl))) throw new ConfigError(DIFFERENT_DATABASES);
};

/** Logs whether a commit waits for a standby. Call this function only if the log is in PostgreSQL. */
export const logStandbys = async (pool: Pick<Pool, 'query'>, writeLog: WriteLog): Promise<void> => {
  const [row] = await STANDBYS.run(pool, {});
  const { names, commit } = row!;
  if (names !== '' && commit !== 'off' && commit !== 'local')
    writeLog(`Acknowledged events are also stored on a standby (synchronous_standby_names = ${names})`);
  else
    writeLog(
      'Acknowledged events are stored on this database server only ' +
        `(${names === '' ? 'synchronous_standby_names is empty' : `synchronous_commit = ${commit}`}): a failover loses ` +
        'the events that the standby has not received yet',
    );
};
