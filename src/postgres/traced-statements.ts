import { Client, type QueryConfig } from 'pg';
import { type Attributes, type SpanOptions, errorTypeOf, tracing } from '../runtime/tracing/tracing.js';

const SQLSTATE = /^[0-9A-Z]{5}$/;

/** The attributes of the server, by OpenTelemetry's conventions for databases. */
export const serverOf = ({ database, host, port }: Client): Attributes => ({
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

/** Runs a statement in a span, if this process traces and a span is active. */
export const tracedStatement = <Result>(
  statement: string | QueryConfig,
  server: Attributes,
  run: () => Promise<Result>,
): Promise<Result> => {
  if (tracing === undefined || tracing.active().length === 0) return run();
  const span = tracing.begin(statementSpan(statement, server));
  const result = run();
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

/** A connection whose statements are traced, except those that its pool sends, which the pool traces. */
export class TracedClient extends Client {
  /** Has the overloads of `Client.query`. */
  override query(...given: never[]): never {
    const send = (): unknown => (super.query as (...statement: unknown[]) => unknown).apply(this, given);
    // The pool calls this method with a callback.
    if (typeof given.at(-1) === 'function') return send() as never;
    const [statement] = given as unknown as [string | QueryConfig];
    return tracedStatement(statement, serverOf(this), send as () => Promise<unknown>) as never;
  }
}
