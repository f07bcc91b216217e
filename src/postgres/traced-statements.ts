import type { Pool, PoolClient, QueryConfig } from 'pg';
import { type Attributes, type SpanOptions, errorTypeOf, type Tracing, tracing } from '../runtime/tracing/tracing.js';

const SQLSTATE = /^[0-9A-Z]{5}$/;

type Query = (...given: unknown[]) => unknown;

/** The attributes of the server, by OpenTelemetry's conventions for databases. */
const serverOf = ({ database, host, port }: PoolClient): Attributes => ({
  ...(database !== undefined && { 'db.namespace': database }),
  'server.address': host,
  'server.port': port,
});

/** The span has the statement's name and operation, but never its text, which may contain values. */
const statementSpan = (statement: string | QueryConfig, server: Attributes): SpanOptions => {
  const { name, text } = typeof statement === 'string' ? { name: undefined, text: statement } : statement;
  const operation = /^\s*([a-z]+)/i.exec(text)?.[1]?.toUpperCase() ?? 'SQL';
  return {
    name: name ?? operation,
    kind: 'client',
    attributes: () => ({
      'db.system.name': 'postgresql',
      'db.operation.name': operation,
      'db.query.summary': name ?? operation,
      ...server,
    }),
  };
};

/** Wraps `query`: a call is traced as a span if a span is active and the call returns a promise. */
const tracedQuery =
  (tracer: Tracing, query: Query, server: () => Attributes): Query =>
  (...given) => {
    if (tracer.active().length === 0 || typeof given.at(-1) === 'function') return query(...given);
    const span = tracer.begin(statementSpan(given[0] as string | QueryConfig, server()));
    const result = query(...given) as Promise<unknown>;
    result.then(
      () => span?.end(),
      (error: unknown) => {
        const type = errorTypeOf(error);
        if (SQLSTATE.test(type)) span?.set({ 'db.response.status_code': type });
        span?.end(type);
      },
    );
    return result;
  };

/** Traces the statements of a pool, if this process traces. */
export const traceStatements = <Traced extends Pool>(pool: Traced): Traced => {
  const tracer = tracing;
  if (tracer === undefined) return pool;
  let newestServer: Attributes = {};
  const trace = (one: { query: unknown }, server: () => Attributes): void => {
    one.query = tracedQuery(tracer, (one.query as Query).bind(one), server);
  };
  // `pool.query` calls `client.query` with a callback, so a statement is not traced twice. The connection is not known
  // when the span begins, so the span has the server of the newest connection.
  trace(pool, () => newestServer);
  pool.on('connect', (client) => {
    const server = serverOf(client);
    newestServer = server;
    trace(client, () => server);
  });
  return pool;
};
