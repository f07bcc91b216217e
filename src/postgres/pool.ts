import { Pool, type PoolClient, type PoolConfig, type QueryConfig, TypeOverrides } from 'pg';
import { poolModeOf } from './pool-mode.js';
import { sessionSetup, setInEachTransaction, type Settings } from './settings.js';
import { traceStatements } from './traced-statements.js';
import { inTransaction } from './transaction.js';

const INT8 = 20;
const NUMERIC = 1700;

/** An int8 as a number: this service's counts, instants and positions all fit, and larger ones must not be rounded. */
const safeInteger = (text: string): number => {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`PostgreSQL sent ${text}, which a number cannot hold exactly`);
  return value;
};

/** How PostgreSQL's types arrive, decided here once: int8 as an exact number, sums (numeric) likewise. */
const types = new TypeOverrides();
types.setTypeParser(INT8, safeInteger);
types.setTypeParser(NUMERIC, safeInteger);

/** What a process may spend on the database before it says so: a request is answered within 5 s. Milliseconds. */
const LIMITS = {
  connectionTimeoutMillis: 2_000,
  query_timeout: 4_500,
  statement_timeout: 4_000,
  lock_timeout: 2_000,
  idle_in_transaction_session_timeout: 10_000,
} satisfies PoolConfig;

/** The server's limits, in ms, are sent as settings, and others beside them. */
export interface PoolOptions extends Omit<PoolConfig, 'options' | 'statement_timeout'> {
  readonly statement_timeout?: number;
  readonly settings?: Settings;
}

/**
 * How long a connection may be idle. To make one takes a busy server longer than a request may wait, so a pause between
 * two bursts must not cost all of them. ms
 */
const IDLE_MS = 60_000;

const open = (
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
  const all = {
    ...Object.fromEntries(Object.entries(limits).map(([name, ms]) => [name, String(ms)])),
    ...settings,
  };
  const begin = async (client: PoolClient): Promise<void> => {
    const mode = await poolModeOf(connectionString);
    if (mode === 'transaction') setInEachTransaction(pool, all);
    const { rows } = await client.query(sessionSetup(mode === 'transaction' ? {} : all));
    if (mayBeReadOnly || !(rows as { is_read_only: boolean }[])[0]!.is_read_only) return;
    const shown = `${client.host}:${client.port}`;
    throw Object.assign(new Error(`${shown} takes no writes: it is a standby, or read-only`), { code: '25006' });
  };
  const pool: Pool = new Pool({
    connectionString,
    max: 10,
    idleTimeoutMillis: IDLE_MS,
    keepAlive: true,
    types,
    ...rest,
    verify: (client, done) => void begin(client).then(() => done(), done),
  });
  const query = pool.query.bind(pool) as (...statement: unknown[]) => Promise<unknown>;
  const inItsOwn = async (...statement: unknown[]): Promise<unknown> =>
    (await poolModeOf(connectionString)) === 'session'
      ? query(...statement)
      : inTransaction(pool, (connection) => connection.query(...(statement as [QueryConfig])));
  Object.assign(pool, { query: inItsOwn });
  // Without a listener one that is lost would end the process.
  pool.on('error', onConnectionLost);
  // One that breaks while it is lent out, between two statements, would end the process; the next statement says it.
  pool.on('connect', (client) => client.on('error', () => {}));
  return traceStatements(pool);
};

/**
 * A pool of connections to the server that takes the writes. A connection that reaches another one, such as a standby, is
 * closed, and the next statement connects again.
 * @param onConnectionLost called for each idle connection lost; the next statement takes a new one, and says so if that
 *   fails too
 */
export const createPool = (
  connectionString: string,
  onConnectionLost?: (error: Error) => void,
  options: PoolOptions = {},
): Pool => open(connectionString, options, false, onConnectionLost);

/** The same to a server that may be a standby. */
export const createReplicaPool = (connectionString: string, options: PoolOptions): Pool =>
  open(connectionString, options, true);
