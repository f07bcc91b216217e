import { randomInt } from 'node:crypto';
import { type Config, ConfigError } from '../runtime/config.js';
import { createPool } from './pool.js';
import { poolModeOf } from './pool-mode.js';
import { LOCK_IF_FREE, LOCK_UNTIL_COMMIT } from './statements.js';
import { inTransaction } from './transaction.js';

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
