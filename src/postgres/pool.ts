import { Pool, type PoolConfig, TypeOverrides } from 'pg';

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

/**
 * A pool of connections to the database.
 * @param onConnectionLost called for each idle connection lost; without a listener one would end the process
 */
export const createPool = (
  connectionString: string,
  onConnectionLost: (error: Error) => void,
  options: PoolConfig = {},
): Pool => {
  const pool = new Pool({ connectionString, max: 10, keepAlive: true, types, ...LIMITS, ...options });
  pool.on('error', onConnectionLost);
  // One that breaks while it is lent out, between two statements, would end the process; the next statement says it.
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
};
