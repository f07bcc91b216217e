import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { Statement } from '../../src/postgres/statement.js';

const root = join(import.meta.dirname, '../..');

/** The TypeScript files in a folder of the repository. */
export const sourcesIn = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => posix.join(folder, name.replaceAll('\\', '/')));

const load = (path: string): Promise<Record<string, unknown>> =>
  import(join(root, path)) as Promise<Record<string, unknown>>;

const statementsIn = (value: unknown): Statement[] => {
  if (value instanceof Statement) return [value];
  return value !== null && typeof value === 'object' ? Object.values(value).flatMap(statementsIn) : [];
};

/** Declares a statement, or several of different shapes. */
const DECLARES = /\b(?:statement|storeNewest)\(|\bnew StatementBuilder\(/;

export interface StatementWithPath {
  readonly path: string;
  readonly statement: Statement;
}

/** All statements that the files of the product export. Only files with statements are loaded, and no program. */
export const rawStatements = async (): Promise<StatementWithPath[]> => {
  const found: StatementWithPath[] = [];
  for (const path of [...sourcesIn('src'), ...sourcesIn('projections')])
    if (DECLARES.test(readFileSync(join(root, path), 'utf8')))
      for (const statement of statementsIn({ ...(await load(path)) })) found.push({ path, statement });
  return found;
};

type Declarations = Statement['parameters'];

/** The types of declarations, in order. */
export const typesOf = (declarations: Declarations): string[] =>
  Object.values(declarations).map((one) => (typeof one === 'string' ? one : one.type));

/** Columns that are null in a row but not declared as nullable. */
export const unexpectedNulls = ({ columns }: Statement, rows: readonly Record<string, unknown>[]): string[] =>
  Object.entries(columns)
    .filter(([, declared]) => typeof declared === 'string' || !declared.isNullable)
    .map(([column]) => column)
    .filter((column) => rows.some((row) => row[column] === null));
