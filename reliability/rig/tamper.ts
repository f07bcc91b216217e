import type { Pool, PoolClient, QueryResult } from 'pg';

export interface Statement {
  readonly name?: string;
  readonly text: string;
  readonly values?: readonly unknown[];
}

/** Stands between the service's code and one of its connections: sends the statement, another one, or several. */
export type Tamper = (
  statement: Statement,
  send: (statement: Statement) => Promise<QueryResult>,
) => Promise<QueryResult>;

/**
 * A pool whose statements pass through other hands, so that a test can take a guard out of SQL without a switch for it
 * in the service.
 * @param tamperOf called for each connection that is taken
 */
export const tampered = (pool: Pool, tamperOf: (connection: PoolClient) => Tamper): Pool => {
  const connect = async (): Promise<PoolClient> => {
    const connection = await pool.connect();
    const tamper = tamperOf(connection);
    const query = (given: string | Statement, values?: readonly unknown[]): Promise<QueryResult> => {
      const statement =
        typeof given === 'string' ? { text: given, values } : { ...given, values: given.values ?? values };
      return tamper(statement, (sent) => connection.query(sent as { text: string }));
    };
    return new Proxy(connection, {
      get: (target, property) => {
        if (property === 'query') return query;
        const value: unknown = Reflect.get(target, property);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
  };
  return new Proxy(pool, {
    get: (target, property) => {
      if (property === 'connect') return connect;
      const value: unknown = Reflect.get(target, property);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
};
