import {
  type Compilable,
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
} from 'kysely';
import type { Pool, QueryConfig } from 'pg';
import { nameStatement } from '../postgres/statement.js';
import type { Tables } from './tables.js';

/** Builds statements and sends none. */
const builder = new Kysely<Tables>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
}).withSchema('read');

/**
 * Sends a compiled statement.
 * @param timeLimitMs whatever the pool's own limit is
 */
export type Compiled<Values extends object, Row> = (
  pool: Pick<Pool, 'query'>,
  values: Values,
  timeLimitMs?: number,
) => Promise<Row[]>;

/**
 * A statement for a frequent query: Kysely builds it once, when its module is loaded, and pg prepares it once a
 * connection under its name. What `build` is handed stands for the values and can only be passed on: to compute with
 * one throws. Write constants with `sql.lit`, so that the planner knows them.
 */
export const compiled = <Values extends object, Row>(
  name: string,
  build: (db: Kysely<Tables>, values: Values) => Compilable<Row>,
): Compiled<Values, Row> => {
  const keys = new Map<unknown, string | symbol>();
  const placeholders = new Proxy({} as Values, {
    get: (_, key) => {
      const placeholder = Symbol(String(key));
      keys.set(placeholder, key);
      return placeholder;
    },
  });
  const { sql: text, parameters } = build(builder, placeholders).compile();
  nameStatement(name, text);
  return async (pool, values, timeLimitMs) => {
    const config: QueryConfig = {
      name,
      text,
      values: parameters.map((parameter) => {
        const key = keys.get(parameter);
        return key === undefined ? parameter : values[key as keyof Values];
      }),
    };
    const limited = timeLimitMs === undefined ? config : { ...config, query_timeout: timeLimitMs };
    return (await pool.query<Row & object>(limited)).rows;
  };
};
