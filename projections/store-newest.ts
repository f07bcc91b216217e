import { type Declarations, type Statement, statement } from '../src/postgres/statement.js';

/**
 * The `text[]` value of a row is sent as an array literal in a text (see `nameArray`), because `unnest` flattens an
 * array of arrays.
 */
type Column = 'text' | 'text[]' | 'uuid' | 'boolean' | 'smallint' | 'integer' | 'bigint' | 'jsonb';
type Columns = Readonly<Record<string, Column>>;
type Arrays<Types extends Columns> = {
  readonly [Name in keyof Types]: Types[Name] extends 'text[]' ? 'text[]' : `${Exclude<Types[Name], 'text[]'>}[]`;
};

interface StoreOptions<Types extends Columns, Returned extends Declarations> {
  readonly key: readonly (keyof Types & string)[];
  /** The columns that determine which of two rows is newer. Default: version, then event id. */
  readonly orderBy?: string;
  /** The column of a parameter. Default: the name of the parameter in snake case. */
  readonly names?: { readonly [Name in keyof Types]?: string };
  /** The new values of columns that depend on both rows, whichever is newer, as SQL over `t` and `excluded`. */
  readonly merged?: { readonly [Name in keyof Types]?: string };
  /** The columns to return from each stored row. Default: none. */
  readonly returning?: Returned;
}

/**
 * Creates a statement that stores rows, except rows of which the table has a newer version.
 * @param columns the types of the columns; each parameter of the statement is an array
 */
export const storeNewest = <const Types extends Columns, const Returned extends Declarations = Record<never, never>>(
  name: string,
  table: string,
  columns: Types,
  { key, orderBy = 'version, event_id', names = {}, merged = {}, returning }: StoreOptions<Types, Returned>,
): Statement<Arrays<Types>, Returned> => {
  const nameOf = (field: string): string =>
    names[field] ?? field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const fields = Object.keys(columns);
  const columnList = fields.map(nameOf).join(', ');
  const selected = fields.map((field) => nameOf(field) + (columns[field] === 'text[]' ? '::text[]' : '')).join(', ');
  const types = fields.map((field) => (columns[field] === 'text[]' ? 'text[]' : `${columns[field]}[]`));
  const arrays = fields.map((field) => `:${field}`).join(', ');
  const orderOf = (row: string): string =>
    `(${orderBy
      .split(', ')
      .map((column) => `${row}.${column}`)
      .join(', ')})`;
  const isNewer = `${orderOf('excluded')} > ${orderOf('t')}`;
  const mergers = Object.entries(merged) as [string, string][];
  const changes = fields
    .filter((field) => !key.includes(field))
    .map((field) => {
      const column = nameOf(field);
      const newest =
        mergers.length === 0
          ? `excluded.${column}`
          : `case when ${isNewer} then excluded.${column} else t.${column} end`;
      return `${column} = ${merged[field] ?? newest}`;
    });
  const isChanged = mergers.map(([field, value]) => ` or t.${nameOf(field)} is distinct from ${value}`);
  return statement(
    name,
    Object.fromEntries(fields.map((field, index) => [field, types[index]!])) as unknown as Arrays<Types>,
    returning ?? ({} as Returned),
    `
    insert into ${table} as t (${columnList}) select ${selected} from unnest(${arrays}) i (${columnList})
    on conflict (${key.map(nameOf).join(', ')}) do update set ${changes.join(', ')}
    where ${isNewer}${isChanged.join('')}
    ${returning === undefined ? '' : `returning ${Object.keys(returning).map(nameOf).join(', ')}`}`,
  );
};
