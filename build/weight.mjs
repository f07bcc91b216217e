/**
 * `npm run weight`: the size of the product and of its tests, by module. A line of code contains at least one token
 * outside of an import, as the TypeScript parser sees it. Data and generated files are not counted, and the scripts of
 * the dashboard's page are counted apart.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import ts from 'typescript';

const SCRIPT = /\.(ts|mts|mjs|cjs|js)$/;
const DASHBOARD = /^src\/dashboard\/.*\.js$/;

const isImport = (node) =>
  ts.isImportDeclaration(node) ||
  ts.isImportEqualsDeclaration(node) ||
  (ts.isExportDeclaration(node) && node.moduleSpecifier);

/** The numbers of the lines that contain code. */
const linesOfCode = (path) => {
  const source = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true);
  const lines = new Set();
  const lineOf = (position) => source.getLineAndCharacterOfPosition(position).line;
  const visit = (node) => {
    if (isImport(node) || ts.isJSDoc(node)) return;
    const children = node.getChildren(source);
    if (children.length > 0) return children.forEach(visit);
    if (node.kind === ts.SyntaxKind.EndOfFileToken || node.getWidth(source) === 0) return;
    for (let line = lineOf(node.getStart(source)); line <= lineOf(node.getEnd()); line += 1) lines.add(line);
  };
  visit(source);
  return lines.size;
};

/** `src/webhooks/delivery/post.ts` belongs to the module `src/webhooks`; the files of `bench` are one module. */
const moduleOf = (path) =>
  path.startsWith('bench/') ? 'bench' : path.split('/').slice(0, 2).join('/').replace(SCRIPT, '');

const files = execFileSync('git', ['ls-files'], { encoding: 'utf8' })
  .split('\n')
  .filter((path) => SCRIPT.test(path));
const count = (isCounted, size) => {
  const modules = new Map();
  for (const path of files.filter(isCounted))
    modules.set(moduleOf(path), (modules.get(moduleOf(path)) ?? 0) + size(path));
  return [...modules].sort(([, a], [, b]) => b - a);
};
const print = (title, modules) => {
  const total = modules.reduce((sum, [, lines]) => sum + lines, 0);
  console.log(`${title}: ${total.toLocaleString('en')}`);
  for (const [name, lines] of modules) console.log(`${lines.toLocaleString('en').padStart(9)}  ${name}`);
};

const allLines = (path) => readFileSync(path, 'utf8').split('\n').length - 1;
const isProduct = (path) => /^(src|projections)\//.test(path) && !DASHBOARD.test(path);
print('W1, product, lines of code', count(isProduct, linesOfCode));
print(
  'Dashboard page, lines of code',
  count((path) => DASHBOARD.test(path), linesOfCode),
);
print(
  'W2, tests and bench, all lines',
  count((path) => /^(test|reliability|bench)\//.test(path), allLines),
);
