import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

const FOLDER = join(import.meta.dirname, '../../src/read-models/tables');

interface Documented {
  readonly name: string;
  /** The docstring as one line; empty if there is none. */
  readonly comment: string;
}

export interface DeclaredColumn extends Documented {
  /** The TypeScript type. */
  readonly type: string;
}

/** A table as `src/read-models/tables` declares it for Kysely. Its name has a schema, unless the schema is `read`. */
export interface DeclaredTable extends Documented {
  readonly columns: readonly DeclaredColumn[];
}

const commentOf = (node: ts.Node): string =>
  ts
    .getJSDocCommentsAndTags(node)
    .map(({ comment }) => (ts.getTextOfJSDocComment(comment) ?? '').replaceAll(/\s+/g, ' '))
    .join(' ');

export const declaredTables = (): DeclaredTable[] =>
  readdirSync(FOLDER)
    .map((file) => ts.createSourceFile(file, readFileSync(join(FOLDER, file), 'utf8'), ts.ScriptTarget.ES2023, true))
    .flatMap((source) => source.statements.filter(ts.isInterfaceDeclaration))
    .flatMap(({ members }) => members.filter(ts.isPropertySignature))
    .map((table) => ({
      name: (table.name as ts.Identifier | ts.StringLiteral).text,
      comment: commentOf(table),
      columns: (table.type as ts.TypeLiteralNode).members.filter(ts.isPropertySignature).map((column) => ({
        name: column.name.getText(),
        comment: commentOf(column),
        type: column.type!.getText(),
      })),
    }));
