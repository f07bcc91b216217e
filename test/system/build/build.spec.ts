import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from '@jest/globals';

const PATIENCE_MS = 600_000;

/** Letters, blanks, quotes and what a pattern, a URL or a shell would read as something else. */
const NAME = `my dir ü 100% "q" 'a' $& (1)`;

const folders: string[] = [];

const newFolder = (name: string, copied: readonly string[]): string => {
  const parent = mkdtempSync(join(tmpdir(), 'build-'));
  folders.push(parent);
  const folder = join(parent, name);
  mkdirSync(folder);
  for (const each of [...copied, 'package.json', 'nest-cli.json', 'tsconfig.json', 'build'])
    cpSync(each, join(folder, each), { recursive: true });
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  return folder;
};

const build = (folder: string, ...words: string[]) =>
  promisify(execFile)(process.execPath, ['build/build.mjs', ...words], { cwd: folder });

describe('The build', () => {
  afterAll(() => {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  });

  it(
    'leaves what is built alone while it is current, or until its successor is whole',
    async () => {
      const folder = newFolder(NAME, []);
      const source = join(folder, 'src/main.ts');
      const main = join(folder, 'dist/src/main.js');
      mkdirSync(join(folder, 'src'));
      writeFileSync(source, 'export const main = true;\n');
      await build(folder);
      const before = statSync(main).ino;
      await build(folder);
      expect(statSync(main).ino).toBe(before);

      writeFileSync(source, 'export const main: string = 1;\n');
      await expect(build(folder)).rejects.toThrow("Type 'number' is not assignable to type 'string'");
      expect(statSync(main).ino).toBe(before);

      // What was built whatever its types are is not current to a build that looks at them.
      await build(folder, '--no-check');
      const unchecked = statSync(main).ino;
      expect(unchecked).not.toBe(before);
      await build(folder, '--no-check');
      expect(statSync(main).ino).toBe(unchecked);
      await expect(build(folder)).rejects.toThrow("Type 'number' is not assignable to type 'string'");

      writeFileSync(source, 'export const main = false;\n');
      writeFileSync(join(folder, 'src/added.ts'), 'export const added = true;\n');
      await build(folder);
      expect(existsSync(join(folder, 'dist/src/added.js'))).toBe(true);
    },
    PATIENCE_MS,
  );
});
