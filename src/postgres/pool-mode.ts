import { randomUUID } from 'node:crypto';
import { Pool, type PoolClient } from 'pg';
import { ConfigError } from '../runtime/config.js';
import type { RowOf } from './statement.js';
import { BACKEND_OF } from './statements.js';

/**
 * `session`: a client keeps one server connection, as without a pooler. `transaction`: each transaction may use another
 * server connection, so the service must not rely on the state of a session.
 */
export type PoolMode = 'session' | 'transaction';

const LIMITS = { max: 2, connectionTimeoutMillis: 2_000, query_timeout: 2_000 };
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
  const pool = new Pool({ connectionString, ...LIMITS });
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  const clients: PoolClient[] = [];
  try {
    for (let n = 0; n < LIMITS.max; n += 1) clients.push(await pool.connect());
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
