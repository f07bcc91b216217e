import type { Pool, PoolClient, QueryResult } from 'pg';

export interface Statement {
  readonly name?: string;
  readonly text: string;
  readonly values?: readonly unknown[];
}

/** Intercepts a statement on a connection: it may send the statement, another one, or several. */
export type Interceptor = (
  statement: Statement,
  send: (statement: Statement) => Promise<QueryResult>,
) => Promise<QueryResult>;

/**
 * Wraps a pool so that a test can change its statements, for example to remove a guard. The service itself needs no
 * switch for this.
 * @param interceptorOf called for each acquired connection
 */
export const interceptQueries = (pool: Pool, interceptorOf: (connection: PoolClient) => Interceptor): Pool => {
  const connect = async (): Promise<PoolClient> => {
    const connection = await pool.connect();
    const interceptor = interceptorOf(connection);
    const query = (given: string | Statement, values?: readonly unknown[]): Promise<QueryResult> => {
      const statement =
        typeof given === 'string' ? { text: given, values } : { ...given, values: given.values ?? values };
      return interceptor(statement, (sent) => connection.query(sent as { text: string }));
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
