import { type QueryConfig, type QueryResult, Client } from 'pg';
import { binaryArray } from './binary-array.js';
import { type Attributes, type SpanOptions, errorTypeOf, tracing } from '../runtime/tracing.js';

/** Turns rows into columns, one array per field, for the array parameters of an `unnest`. */
export const columnsOf = <Row extends object, Field extends keyof Row>(
  rows: readonly Row[],
  ...fields: readonly Field[]
): { readonly [Name in Field]: readonly Row[Name][] } => {
  const columns = {} as { [Name in Field]: readonly Row[Name][] };
  for (const field of fields) columns[field] = rows.map((row) => row[field]);
  return columns;
};

/**
 * Formats an array within an array as a PostgreSQL array literal.
 * @param names ids, slugs or type names; nothing is escaped
 */
export const nameArray = (names: readonly string[]): string => (names.length === 0 ? '{}' : `{"${names.join('","')}"}`);

/** PostgreSQL's types by name, with the types that the connections of a pool parse them as (`pool.ts`). */
interface Scalars {
  text: string;
  uuid: string;
  boolean: boolean;
  smallint: number;
  integer: number;
  bigint: number;
  json: unknown;
  jsonb: unknown;
  interval: string;
  bytea: Buffer;
}
type Scalar = keyof Scalars;
type PgType = Scalar | `${Scalar}[]`;

/** A declared type: the type of PostgreSQL, with further knowledge about the values. */
interface Declared<Value> {
  readonly type: PgType;
  readonly isNullable: boolean;
  /** Never set; carries the type of the values. */
  readonly value?: Value;
}
type Declaration = PgType | Declared<unknown>;

type Read<D> =
  D extends Declared<infer Value>
    ? Value
    : D extends Scalar
      ? Scalars[D]
      : D extends `${infer Element extends Scalar}[]`
        ? Scalars[Element][]
        : never;

/** The type of a parameter. */
type Sent<D> = D extends 'bigint'
  ? number | bigint | string
  : D extends 'bigint[]'
    ? readonly (number | bigint | string | null | undefined)[]
    : D extends `${infer Element extends Scalar}[]`
      ? readonly (Scalars[Element] | null | undefined)[]
      : Read<D>;

export const nullable = <D extends Declaration>(declaration: D): Declared<Read<D> | null> => ({
  type: typeof declaration === 'string' ? declaration : declaration.type,
  isNullable: true,
});

/** A column of JSON values of this shape. */
export const json = <Shape>(): Declared<Shape> => ({ type: 'json', isNullable: false });

/** A text column that contains only these values. */
export const textOf = <Text extends string>(): Declared<Text> => ({ type: 'text', isNullable: false });

export type Declarations = Readonly<Record<string, Declaration>>;
type NoColumns = Readonly<Record<never, never>>;
type RowBy<Columns extends Declarations> = { readonly [Name in keyof Columns]: Read<Columns[Name]> };
type ValuesBy<Parameters extends Declarations> = { readonly [Name in keyof Parameters]: Sent<Parameters[Name]> };

/** One row, if all parameters are sent as arrays. */
type Each<Parameters extends Declarations> = {
  readonly [Name in keyof Parameters]: Sent<Parameters[Name]> extends infer Values
    ? Values extends readonly (infer Value)[]
      ? Value
      : never
    : never;
};

/** A pool, or one connection of a pool. */
export interface Connection {
  query(config: QueryConfig): Promise<QueryResult>;
}

/** The text of every named statement of this process, by name. */
const texts = new Map<string, string>();

/** @throws Error if another statement has the same name, because a connection would prepare only one of them */
const nameStatement = (name: string, text: string): void => {
  const other = texts.get(name);
  if (other !== undefined && other !== text) throw new Error(`Two statements are named "${name}"`);
  texts.set(name, text);
};

/** What contains no parameters (literals, quoted names and casts), and parameters: `:name` or, by mistake, `$1`. */
const TOKENS = /'[^']*'|"[^"]*"|::|(?::(?=[a-z])|\$)(\w+)/g;

/**
 * Replaces each `:name` by the number and the type of the parameter.
 * @throws Error if a parameter is not declared, or not used
 */
const numberParameters = (statement: string, parameters: Declarations, text: string): string => {
  const names = Object.keys(parameters);
  const unused = new Set(names);
  const numbered = text.replace(TOKENS, (token, name?: string) => {
    if (name === undefined) return token;
    const declared = parameters[name];
    if (declared === undefined) throw new Error(`Statement "${statement}" does not declare its parameter ${token}`);
    unused.delete(name);
    return `$${names.indexOf(name) + 1}::${typeof declared === 'string' ? declared : declared.type}`;
  });
  if (unused.size > 0)
    throw new Error(`Statement "${statement}" does not use its parameter :${[...unused].join(', :')}`);
  return numbered;
};

/**
 * A named SQL statement. `test/read-models/raw-statements.spec.ts` compares each statement with the migrated schema.
 */
export class Statement<Parameters extends Declarations = Declarations, Columns extends Declarations = Declarations> {
  constructor(
    readonly name: string,
    /** The parameters by name. Their order is the order of the values that are sent. */
    readonly parameters: Parameters,
    /** The columns of the rows, in order. */
    readonly columns: Columns,
    /** The SQL with numbered parameters, as PostgreSQL prepares it. */
    readonly text: string,
  ) {
    nameStatement(name, text);
  }

  /**
   * Returns the argument for the `query` of a connection, which prepares the statement once under its name.
   * @param timeLimitMs overrides the timeout of the pool
   */
  query(values: ValuesBy<Parameters>, timeLimitMs?: number): QueryConfig {
    const config = { name: this.name, text: this.text, values: this.valuesOf(values) };
    const limited = { ...config, query_timeout: timeLimitMs };
    return timeLimitMs === undefined ? config : limited;
  }

  /** @throws the database's error */
  async run(connection: Connection, values: ValuesBy<Parameters>, timeLimitMs?: number): Promise<RowBy<Columns>[]> {
    return (await connection.query(this.query(values, timeLimitMs))).rows as RowBy<Columns>[];
  }

  /**
   * Returns the `query` for all `rows`: each parameter that is not in `others` is sent as an array, with the column of its
   * name.
   */
  queryEach<Other extends keyof Parameters = never>(
    rows: readonly Each<Omit<Parameters, Other>>[],
    others = {} as Pick<ValuesBy<Parameters>, Other>,
  ): QueryConfig {
    return this.query(this.valuesOfEach(rows, others));
  }

  /**
   * Runs the statement once for all `rows`, as `queryEach` says. Sends nothing if there are no rows.
   * @throws the database's error
   */
  async runEach<Other extends keyof Parameters = never>(
    connection: Connection,
    rows: readonly Each<Omit<Parameters, Other>>[],
    others = {} as Pick<ValuesBy<Parameters>, Other>,
  ): Promise<RowBy<Columns>[]> {
    if (rows.length === 0) return [];
    return this.run(connection, this.valuesOfEach(rows, others));
  }

  /**
   * Runs the statement unprepared, so that PostgreSQL plans it for these values.
   * @throws the database's error
   */
  async plan(connection: Connection, values: ValuesBy<Parameters>): Promise<RowBy<Columns>[]> {
    return (await connection.query({ text: this.text, values: this.valuesOf(values) })).rows as RowBy<Columns>[];
  }

  private valuesOfEach<Other extends keyof Parameters>(
    rows: readonly Each<Omit<Parameters, Other>>[],
    others: Pick<ValuesBy<Parameters>, Other>,
  ): ValuesBy<Parameters> {
    const names = Object.keys(this.parameters).filter((name) => !(name in others));
    return { ...columnsOf(rows, ...(names as Exclude<keyof Parameters, Other>[])), ...others } as ValuesBy<Parameters>;
  }

  private valuesOf(values: ValuesBy<Parameters>): unknown[] {
    return Object.entries(this.parameters).map(([name, declaration]) => {
      const value: unknown = values[name];
      return Array.isArray(value) && typeof declaration === 'string' ? binaryArray(declaration, value) : value;
    });
  }
}

/**
 * Declares a statement.
 * @param parameters the types of the parameters by name, in the order in which their values are sent
 * @param given the columns of the rows, in order, unless the statement returns no rows; and the SQL, in which `:name` is a
 *   parameter of its declared type
 */
export const statement = <const Parameters extends Declarations, const Columns extends Declarations = NoColumns>(
  name: string,
  parameters: Parameters,
  ...given: readonly [text: string] | readonly [columns: Columns, text: string]
): Statement<Parameters, Columns> => {
  const [columns, text] = given.length === 1 ? [{} as Columns, given[0]] : given;
  return new Statement(name, parameters, columns, numberParameters(name, parameters, text));
};

/** The type of a statement's rows. */
export type RowOf<S> = S extends Statement<infer _, infer Columns> ? RowBy<Columns> : never;

/** The database's clock as an SQL expression, in ms since 1970. */
export const CLOCK = 'floor(extract(epoch from clock_timestamp()) * 1000)::bigint';

export const READ_CLOCK = statement('clock-read', {}, { now: 'bigint' }, `select ${CLOCK} as now`);

/** Two statements that return the server process behind a connection, one for each client of the pool mode detection. */
export const BACKEND_OF = [
  statement('backend-of-first', {}, { pid: 'integer', whose: 'integer' }, 'select pg_backend_pid() as pid, 0 as whose'),
  statement(
    'backend-of-second',
    {},
    { pid: 'integer', whose: 'integer' },
    'select pg_backend_pid() as pid, 1 as whose',
  ),
] as const;

/** Takes an advisory lock, which is visible in one database only. */
export const LOCK_UNTIL_COMMIT = statement(
  'lock-until-commit',
  { key: 'bigint' },
  { is_locked: 'boolean' },
  `select pg_advisory_xact_lock(:key) is not null as is_locked`,
);
export const LOCK_IF_FREE = statement(
  'lock-if-free',
  { key: 'bigint' },
  { is_locked: 'boolean' },
  `select pg_try_advisory_xact_lock(:key) as is_locked`,
);

/**
 * PostgreSQL keeps the snapshot of a statement with parameters until the next statement of its connection, and so every
 * row that is deleted in the database meanwhile. A transaction that is going to be idle sends this statement first.
 */
export const DROP_SNAPSHOT = 'select';

/** Reads the settings that decide whether a commit waits for a standby. */
export const STANDBYS = statement(
  'standbys',
  {},
  { names: 'text', commit: 'text' },
  `select current_setting('synchronous_standby_names') as names, current_setting('synchronous_commit') as commit`,
);

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
