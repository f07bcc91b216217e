import { expect, it } from '@jest/globals';
import { declaredTables } from '../../support/declared-tables.js';
import { createDatabase } from '../../support/postgres.js';

/** The TypeScript type of a PostgreSQL type, as parsed in `src/postgres/pool.ts`. */
const TYPES: Readonly<Record<string, string>> = {
  bigint: 'number',
  integer: 'number',
  smallint: 'number',
  text: 'string',
  uuid: 'string',
  boolean: 'boolean',
  json: 'unknown',
  jsonb: 'unknown',
  bytea: 'Buffer',
  ARRAY: 'string[]',
};

/** `table.column: type` of each column, as declared in `tables/`. */
const declared = (): string[] =>
  declaredTables()
    .flatMap(({ name: table, columns }) => columns.map(({ name, type }) => `${table}.${name}: ${type}`))
    .sort();

it('The Kysely types match the columns that the migrations create', async () => {
  const database = await createDatabase();
  try {
    const { rows } = await database.pool.query<Record<'table' | 'column' | 'type' | 'nullable' | 'initial', string>>(`
      select case table_schema when 'read' then '' else table_schema || '.' end || table_name as table, column_name as column, data_type as type, is_nullable as nullable,
        column_default as initial
      from information_schema.columns join information_schema.tables using (table_schema, table_name)
      where table_schema in ('read', 'service') and table_type = 'BASE TABLE' and table_name not like '%migrations%'`);
    const createdColumns = rows.map(({ table, column, type, nullable, initial }) => {
      const kyselyType = `${TYPES[type]}${nullable === 'YES' && !type.startsWith('json') ? ' | null' : ''}`;
      return `${table}.${column}: ${initial === null ? kyselyType : `Generated<${kyselyType}>`}`;
    });
    expect(declared()).toEqual(createdColumns.sort());
  } finally {
    await database.drop();
  }
});
