import { type ClientBase, escapeLiteral, Query } from 'pg';
import { forgetPoolerAt, NAME_CODES, type Pooler } from './pooler.js';

/** `pg`'s own, which its types leave out. */
interface Wire {
  parse(message: { text: string }): void;
  bind(message: object): void;
  execute(message: object): void;
}
interface SentQuery {
  text: string;
  name: string | undefined;
  queryMode: string | undefined;
  query_timeout: number | undefined;
  callback: ((error: Error | undefined, result?: unknown) => void) | undefined;
  requiresPreparation(): boolean;
  submit: (wire: Wire) => Error | null;
  prepare: (wire: Wire) => void;
  handleDataRow: (message: object) => void;
  handleCommandComplete: (message: object, wire: Wire) => void;
}
interface ClientParts {
  readonly connection: {
    readonly stream: { destroy(): void };
    on(event: 'errorMessage', listener: (message: { code?: string }) => void): void;
  };
  readonly connectionParameters: Record<string, unknown>;
  getTransactionStatus(): 'I' | 'T' | 'E' | null;
  query: (query: SentQuery | string | { query_timeout?: number }, values?: unknown, callback?: unknown) => unknown;
}

const LIMITS = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout'] as const;
/** One setting of `options`, as a server's command line has it. */
const OPTION = /(?:-c\s*|--)([\w.]+)=(\S+)/g;

/** Takes what the startup message would ask for out of it: a pooler refuses it, or keeps it to itself. */
const takeSettings = (parameters: Record<string, unknown>): [string, string][] => {
  const options = typeof parameters['options'] === 'string' ? parameters['options'] : '';
  const settings = LIMITS.filter((name) => parameters[name])
    .map((name): [string, string] => [name, String(parameters[name])])
    .concat([...options.matchAll(OPTION)].map(([, name, value]) => [name!, value!]));
  for (const name of [...LIMITS, 'options']) parameters[name] = undefined;
  return settings;
};

/** Begins a transaction, or is several statements, which PostgreSQL takes only without parameters. */
const IS_SIMPLE = /^\s*(?:begin|start)\b|;/i;

/** Sends the settings before a query that is a transaction of its own, in the same message. */
const begunWith = (settings: readonly [string, string][], query: SentQuery, isIdle: () => boolean): SentQuery => {
  const { submit, prepare, handleDataRow, handleCommandComplete } = query;
  let isPreceded = false;
  query.submit = (wire) => {
    if (isIdle() && !query.requiresPreparation() && IS_SIMPLE.test(query.text)) {
      // Not `set_config`: a query that is sent before it is too late for `begin` to choose an isolation level.
      const local = settings.map(([name, value]) => `set local ${name} = ${escapeLiteral(value)}; `);
      query.text = local.join('') + query.text;
    } else if (isIdle()) {
      isPreceded = true;
      query.queryMode = 'extended';
    }
    return submit.call(query, wire);
  };
  query.prepare = (wire) => {
    if (isPreceded) {
      // Not `set local`, of which the server would warn in its log: until the sync that follows all is one transaction.
      const each = settings.map(([name, value]) => `set_config(${escapeLiteral(name)}, ${escapeLiteral(value)}, true)`);
      wire.parse({ text: `select ${each.join(', ')}` });
      wire.bind({});
      wire.execute({});
    }
    prepare.call(query, wire);
  };
  query.handleDataRow = (message) => {
    if (!isPreceded) handleDataRow.call(query, message);
  };
  query.handleCommandComplete = (message, wire) => {
    if (!isPreceded) handleCommandComplete.call(query, message, wire);
    isPreceded = false;
  };
  return query;
};

const poolers = new WeakMap<ClientBase, Pooler>();

/** @returns undefined if a connection is straight to PostgreSQL */
export const poolerOf = (client: ClientBase): Pooler | undefined => poolers.get(client);

/**
 * Lets a connection that is not open yet go through a pooler: its limits and settings are made anew in each transaction,
 * with no round trip of their own, and statements lose their names where these do not follow them.
 */
export const goThrough = (pooler: Pooler, client: ClientBase): void => {
  const { keepsNames, url } = pooler;
  poolers.set(client, pooler);
  const parts = client as unknown as ClientParts;
  const settings = takeSettings(parts.connectionParameters);
  parts.connection.on('errorMessage', ({ code }) => {
    if (!NAME_CODES.has(code)) return;
    // It was replaced by one that does not keep names. This connection does not know which ones it has.
    forgetPoolerAt(url);
    parts.connection.stream.destroy();
  });
  const isIdle = (): boolean => settings.length > 0 && parts.getTransactionStatus() === 'I';
  const send = parts.query.bind(client);
  parts.query = (config, values, callback) => {
    const query = new Query(config as string, values as unknown[], callback as () => void) as unknown as SentQuery;
    if (!keepsNames) query.name = undefined;
    if (typeof config === 'object') query.query_timeout = config.query_timeout;
    begunWith(settings, query, isIdle);
    if (query.callback !== undefined) return void send(query);
    return new Promise((resolve, reject) => {
      query.callback = (error, result) => (error ? reject(error) : resolve(result));
      send(query);
    });
  };
};
