/**
 * Writes the types of a generated client, by openapi-typescript, from the reference of the build.
 * The first argument names another file for them, the second another document.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..', '..', '..');
const folder = mkdtempSync(join(tmpdir(), 'threat-protection-client-'));
const [file = join(import.meta.dirname, 'paths.ts'), given] = process.argv.slice(2);
const run = (program, ...words) => execFileSync(process.execPath, [join(root, program), ...words], { stdio: 'pipe' });

try {
  const document = given ?? join(folder, 'openapi.json');
  if (given === undefined) run('dist/test/support/write-document.js', document);
  run('node_modules/openapi-typescript/bin/cli.js', document, '-o', file);
} finally {
  rmSync(folder, { recursive: true });
}
