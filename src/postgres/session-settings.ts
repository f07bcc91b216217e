import { escapeLiteral, type Pool } from 'pg';

/** Parameters of PostgreSQL, by name. */
export type Settings = Readonly<Record<string, string>>;

/** The settings of pools behind a pooler in transaction mode. Each transaction has to apply these settings again. */
const perTransaction = new WeakMap<Pool, Settings>();

export const setInEachTransaction = (pool: Pool, settings: Settings): void => void perTransaction.set(pool, settings);

/**
 * A statement that applies the settings to a connection and returns whether its server is read-only and the encoding
 * of its database. The settings are not sent as startup parameters, because poolers reject such parameters.
 */
export const sessionSetup = (settings: Settings): string => {
  const calls = Object.entries(settings).map(
    ([name, value]) => `set_config(${escapeLiteral(name)}, ${escapeLiteral(value)}, false)`,
  );
  return `select current_setting('transaction_read_only') = 'on' as is_read_only, current_setting('server_encoding') as encoding${calls.map((call) => `, ${call}`).join('')}`;
};

/**
 * @param begin statements that begin a transaction; the first one must be `begin`
 * @returns these statements, with the pool's settings added if its connections do not keep them
 */
export const beginWithSettings = (pool: Pool, begin: string): string => {
  const settings = Object.entries(perTransaction.get(pool) ?? {});
  const local = settings.map(([name, value]) => `; set local ${name} = ${escapeLiteral(value)}`);
  return begin.replace(/^[^;]*/, (first) => first + local.join(''));
};
