import { randomInt } from 'node:crypto';
import { type Config, ConfigError } from '../runtime/config.js';
import { createPool } from './pool.js';
import { poolModeOf } from './pool-mode.js';
import { LOCK_IF_FREE, LOCK_UNTIL_COMMIT } from './statements.js';
import { inTransaction } from './transaction.js';

const MISSING =
  'DATABASE_URL leads to a pooler that gives each transaction another connection: set DATABASE_DIRECT_URL to the ' +
  'address of PostgreSQL itself, for what needs one connection throughout (rebuilds, exports)';
const MIXES_SESSIONS =
  'DATABASE_DIRECT_URL leads to a pooler that gives each transaction another connection: set it to the address of ' +
  'PostgreSQL itself';
const ELSEWHERE = 'DATABASE_DIRECT_URL leads to another database than DATABASE_URL: set it to the same one';

/** Whether two addresses lead to one database: what the one has locked, the other cannot. It takes no special right. */
const leadToOneDatabase = async (...urls: readonly [string, string]): Promise<boolean> => {
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
 * Ensures that what needs one connection throughout has one.
 * @throws ConfigError if it has none, or one to another database; or what a connection throws
 */
export const requireSessions = async (
  databaseUrl: string,
  { databaseDirectUrl }: Pick<Config, 'databaseDirectUrl'>,
): Promise<void> => {
  const mode = await poolModeOf(databaseUrl);
  if (databaseDirectUrl === undefined) {
    if (mode === 'transaction') throw new ConfigError(MISSING);
    return;
  }
  if ((await poolModeOf(databaseDirectUrl)) === 'transaction') throw new ConfigError(MIXES_SESSIONS);
  if (!(await leadToOneDatabase(databaseUrl, databaseDirectUrl))) throw new ConfigError(ELSEWHERE);
};
