import { randomUUID } from 'node:crypto';
import { Pool, type PoolClient } from 'pg';
import { ConfigError } from '../runtime/config.js';
import type { RowOf } from './statement.js';
import { BACKEND_OF } from './statements.js';

/**
 * `session`: a client keeps one connection of the server, as without a pooler. `transaction`: each transaction may get
 * another one, so nothing may be left in a session.
 */
export type PoolMode = 'session' | 'transaction';

const LIMITS = { max: 2, connectionTimeoutMillis: 2_000, query_timeout: 2_000 };
/** Behind a pooler that other processes use too, two clients may get different connections by chance. */
const ROUNDS = 10;
/** What PostgreSQL answers if a statement's name is taken, or unknown. */
const LOST_NAME: ReadonlySet<unknown> = new Set<unknown>(['42P05', '26000']);

const LOSES_STATEMENTS =
  'The database address leads to a pooler that gives each transaction another connection and loses prepared ' +
  'statements: use PgBouncer 1.21 or later with max_prepared_statements above 0, or set pool_mode = session';

/** Two clients prepare different statements under one name, in turn, and see which processes of the server answer. */
const compareTurns = async (clients: readonly PoolClient[]): Promise<PoolMode> => {
  const name = `pool-mode-${randomUUID()}`;
  const seen = [new Set<number>(), new Set<number>()] as const;
  for (let round = 0; round < ROUNDS; round += 1)
    for (const whose of [0, 1] as const) {
      const { rows } = await clients[whose]!.query({ ...BACKEND_OF[whose].query({}), name });
      const row = rows[0] as RowOf<(typeof BACKEND_OF)[0]>;
      // The statement that the other client prepared.
      if (row.whose !== whose) throw new ConfigError(LOSES_STATEMENTS);
      seen[whose].add(row.pid);
    }
  // One connection for each of them, and not the same one for both.
  const all = new Set(seen.flatMap((pids) => [...pids]));
  return seen.every(({ size }) => size === 1) && all.size === seen.length ? 'session' : 'transaction';
};

const findMode = async (connectionString: string): Promise<PoolMode> => {
  const pool = new Pool({ connectionString, ...LIMITS });
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  const clients: PoolClient[] = [];
  try {
    for (let n = 0; n < LIMITS.max; n += 1) clients.push(await pool.connect());
    return await compareTurns(clients);
  } catch (error) {
    throw LOST_NAME.has((error as { code?: unknown }).code) ? new ConfigError(LOSES_STATEMENTS) : error;
  } finally {
    for (const client of clients) client.release(true);
    void pool.end();
  }
};

const found = new Map<string, Promise<PoolMode>>();

/**
 * Tries once per process and address whether a client keeps its connection there.
 * @throws ConfigError if prepared statements get lost there; or what a connection throws. The next call tries again
 */
export const poolModeOf = (url: string): Promise<PoolMode> => {
  const known = found.get(url);
  if (known !== undefined) return known;
  const finding = findMode(url);
  found.set(url, finding);
  finding.catch(() => found.delete(url));
  return finding;
};
