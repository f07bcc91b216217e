import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import ts from 'typescript';
import { createDatabase } from '../../support/postgres.js';

const FOLDER = join(import.meta.dirname, '../../../src/read-models/tables');

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
  ARRAY: 'string[]',
};

/** `table.column: type` of each column, as declared in `tables/`. */
const declared = (): string[] =>
  readdirSync(FOLDER)
    .map((file) => ts.createSourceFile(file, readFileSync(join(FOLDER, file), 'utf8'), ts.ScriptTarget.ES2023, true))
    .flatMap((source) => source.statements.filter(ts.isInterfaceDeclaration))
    .flatMap(({ members }) => members.filter(ts.isPropertySignature))
    .flatMap(({ name: table, type }) =>
      (type as ts.TypeLiteralNode).members
        .filter(ts.isPropertySignature)
        .map(
          (column) =>
            `${(table as ts.Identifier | ts.StringLiteral).text}.${column.name.getText()}: ${column.type!.getText()}`,
        ),
    )
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
