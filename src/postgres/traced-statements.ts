import type { Pool, PoolClient, QueryConfig } from 'pg';
import { type Attributes, type SpanOptions, errorTypeOf, type Tracing, tracing } from '../tracing/tracing.js';

const SQLSTATE = /^[0-9A-Z]{5}$/;

type Query = (...given: unknown[]) => unknown;

/** Where statements go, by the conventions for databases. */
const serverOf = ({ database, host, port }: PoolClient): Attributes => ({
  ...(database !== undefined && { 'db.namespace': database }),
  'server.address': host,
  'server.port': port,
});

/** The statement's name and its first word. Never its text, which may hold values. */
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

/** A query that is traced as a span if it is sent on behalf of a span, and its answer awaited as a promise. */
const tracedQuery =
  (tracer: Tracing, query: Query, server: () => Attributes): Query =>
  (...given) => {
    if (tracer.active().length === 0 || typeof given.at(-1) === 'function') return query(...given);
    const span = tracer.begin(statementSpan(given[0] as string | QueryConfig, server()));
    const answer = query(...given) as Promise<unknown>;
    answer.then(
      () => span?.end(),
      (error: unknown) => {
        const type = errorTypeOf(error);
        if (SQLSTATE.test(type)) span?.set({ 'db.response.status_code': type });
        span?.end(type);
      },
    );
    return answer;
  };

/** Traces what is sent through a pool, if this process traces. */
export const traceStatements = <Traced extends Pool>(pool: Traced): Traced => {
  const tracer = tracing;
  if (tracer === undefined) return pool;
  let newest: Attributes = {};
  const trace = (one: { query: unknown }, server: () => Attributes): void => {
    one.query = tracedQuery(tracer, (one.query as Query).bind(one), server);
  };
  // A pool's own statements go through its connections with a callback, and are not counted twice. Which connection
  // that will be, nobody knows before.
  trace(pool, () => newest);
  pool.on('connect', (client) => {
    const server = serverOf(client);
    newest = server;
    trace(client, () => server);
  });
  return pool;
};
