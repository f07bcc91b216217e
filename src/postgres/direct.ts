import type { PoolClient } from 'pg';
import { type Config, ConfigError } from '../runtime/config.js';
import { serverUrls } from './database-url.js';
import { poolerOf } from './pooled-client.js';
import { createPool } from './pool.js';
import type { Pooler } from './pooler.js';
import { IDENTITY } from './statements.js';

const MISSING =
  'DATABASE_URL leads to a pooler that gives each transaction another connection: set DATABASE_DIRECT_URL to the ' +
  'address of PostgreSQL itself, for what needs one connection throughout (rebuilds, exports)';
const MIXES_SESSIONS =
  'DATABASE_DIRECT_URL leads to a pooler that gives each transaction another connection: set it to the address of ' +
  'PostgreSQL itself';
const ELSEWHERE = 'DATABASE_DIRECT_URL leads to another database than DATABASE_URL: set it to the same one';

const at = async <Answer>(url: string, ask: (connection: PoolClient) => Answer | Promise<Answer>): Promise<Answer> => {
  const pool = createPool(url, () => undefined, { max: 1 });
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

/** What is there, and which database, if that is to be compared. */
const look = (
  url: string,
  isCompared: boolean,
): Promise<{ pooler: Pooler | undefined; identity: string | undefined }> =>
  at(url, async (connection) => ({
    pooler: poolerOf(connection),
    identity: isCompared ? (await IDENTITY.plan(connection, {}))[0]!.identity : undefined,
  }));

/**
 * Sees to it that what needs one connection throughout has one.
 * @returns the pooler at `databaseUrl`
 * @throws ConfigError if it would not, or would have one to another database; or what a connection throws
 */
export const requireSessions = async (
  databaseUrl: string,
  { databaseDirectUrl }: Pick<Config, 'databaseDirectUrl'>,
): Promise<Pooler | undefined> => {
  const { pooler, identity } = await look(databaseUrl, databaseDirectUrl !== undefined);
  if (databaseDirectUrl === undefined) {
    if (pooler?.mixesSessions === true) throw new ConfigError(MISSING);
    return pooler;
  }
  serverUrls(databaseDirectUrl, 'DATABASE_DIRECT_URL');
  const direct = await look(databaseDirectUrl, true);
  if (direct.pooler?.mixesSessions === true) throw new ConfigError(MIXES_SESSIONS);
  if (direct.identity !== identity) throw new ConfigError(ELSEWHERE);
  return pooler;
};
