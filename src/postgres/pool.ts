import { type Client, Pool, type PoolClient, type PoolConfig, type QueryConfig, TypeOverrides } from 'pg';
import { ConfigError } from '../runtime/config.js';
import { tracing } from '../runtime/tracing/tracing.js';
import { type PoolMode, poolModeOf } from './pool-mode.js';
import { sessionSetup, setInEachTransaction, type Settings } from './session-settings.js';
import { serverOf, TracedClient, tracedStatement } from './traced-statements.js';
import { inTransaction } from './transaction.js';

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

/** Types int8 and numeric (sums) are parsed as exact numbers, on all connections of the service. */
const types = new TypeOverrides();
types.setTypeParser(INT8, safeInteger);
types.setTypeParser(NUMERIC, safeInteger);

/** Timeouts in ms. The timeouts are short, because every request must be answered within 5 s. */
const LIMITS = {
  connectionTimeoutMillis: 2_000,
  query_timeout: 4_500,
  statement_timeout: 4_000,
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
    const { is_read_only, encoding } = (rows as { is_read_only: boolean; encoding: string }[])[0]!;
    if (!ENCODINGS.has(encoding))
      throw new ConfigError(
        `The database cannot be used: its encoding is ${encoding}, which cannot store all characters; create a database ` +
          "with encoding 'UTF8' template template0, and name it in DATABASE_URL",
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
