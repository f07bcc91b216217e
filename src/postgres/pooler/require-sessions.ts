import { randomInt } from 'node:crypto';
import type { PoolClient } from 'pg';
import { type Config, ConfigError } from '../../runtime/config.js';
import { serverUrls } from '../database-url.js';
import { poolerOf } from './pooled-client.js';
import { createPool } from '../pool.js';
import type { Pooler } from './pooler.js';
import { LOCK_IF_FREE, LOCK_UNTIL_COMMIT } from '../statements.js';

const MISSING =
  'DATABASE_URL leads to a pooler that gives each transaction another connection: set DATABASE_DIRECT_URL to the ' +
  'address of PostgreSQL itself, for what needs one connection throughout (rebuilds, exports)';
const MIXES_SESSIONS =
  'DATABASE_DIRECT_URL leads to a pooler that gives each transaction another connection: set it to the address of ' +
  'PostgreSQL itself';
const ELSEWHERE = 'DATABASE_DIRECT_URL leads to another database than DATABASE_URL: set it to the same one';

const at = async <Answer>(url: string, ask: (connection: PoolClient) => Answer | Promise<Answer>): Promise<Answer> => {
  const pool = createPool(url, undefined, { max: 1 });
  try {
    const connection = await pool.connect();
    try {
      return await ask(connection);
    } finally {
      connection.release();
    }
  } finally {
    await pool.end();
  }
};

/** Whether two connections lead to one database: what the one has locked, the other cannot. It takes no special right. */
const leadToOneDatabase = async (one: PoolClient, other: PoolClient): Promise<boolean> => {
  const key = randomInt(2 ** 47);
  await one.query('begin');
  await LOCK_UNTIL_COMMIT.plan(one, { key });
  const [row] = await LOCK_IF_FREE.plan(other, { key });
  // Fails if this one was lost meanwhile, and its lock with it.
  await one.query('commit');
  return !row!.is_locked;
};

/**
 * Sees to it that what needs one connection throughout has one.
 * @returns the pooler at `databaseUrl`
 * @throws ConfigError if it would not, or would have one to another database; or what a connection throws
 */
export const requireSessions = async (
  databaseUrl: string,
  { databaseDirectUrl }: Pick<Config, 'databaseDirectUrl'>,
): Promise<Pooler | undefined> => {
  if (databaseDirectUrl !== undefined) serverUrls(databaseDirectUrl, 'DATABASE_DIRECT_URL');
  return at(databaseUrl, (connection) => {
    const pooler = poolerOf(connection);
    if (databaseDirectUrl !== undefined)
      return at(databaseDirectUrl, async (direct) => {
        if (poolerOf(direct)?.mixesSessions === true) throw new ConfigError(MIXES_SESSIONS);
        if (!(await leadToOneDatabase(connection, direct))) throw new ConfigError(ELSEWHERE);
        return pooler;
      });
    if (pooler?.mixesSessions === true) throw new ConfigError(MISSING);
    return pooler;
  });
};
