import { escapeLiteral, type Pool } from 'pg';

/** Parameters of PostgreSQL, by name. */
export type Settings = Readonly<Record<string, string>>;

/** Of the pools that lead to a pooler by transaction: each transaction sets its own. */
const perTransaction = new WeakMap<Pool, Settings>();

export const setInEachTransaction = (pool: Pool, settings: Settings): void => void perTransaction.set(pool, settings);

/** Sets them for a connection, and shows whether its server takes no writes. Not as startup parameters: poolers refuse these. */
export const sessionSetup = (settings: Settings): string => {
  const each = Object.entries(settings).map(
    ([name, value]) => `set_config(${escapeLiteral(name)}, ${escapeLiteral(value)}, false)`,
  );
  return `select current_setting('transaction_read_only') = 'on' as is_read_only${each.map((set) => `, ${set}`).join('')}`;
};

/**
 * @param begin statements that begin a transaction, of which the first one is `begin`
 * @returns the same with the pool's settings, if a connection does not keep them
 */
export const beginWith = (pool: Pool, begin: string): string => {
  const settings = Object.entries(perTransaction.get(pool) ?? {});
  const local = settings.map(([name, value]) => `; set local ${name} = ${escapeLiteral(value)}`);
  return begin.replace(/^[^;]*/, (first) => first + local.join(''));
};
