import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { build, NAME, newFolder, removeFolders } from '../../support/project-folder.js';

const TIMEOUT_MS = 600_000;

/** Creates a folder for the build of small files, for which the compiler need not read the types of Node. */
const newSmallFolder = (): string => {
  const folder = newFolder(NAME, []);
  const config = { extends: './tsconfig.json', compilerOptions: { types: [] } };
  writeFileSync(join(folder, 'tsconfig.build.json'), JSON.stringify(config));
  return folder;
};

describe('The build', () => {
  afterAll(removeFolders);

  it(
    'keeps the built files while they are current, and replaces them only by a complete build',
    async () => {
      const folder = newSmallFolder();
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

      // Files that were built without a type check are not current for a build with a type check.
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
    TIMEOUT_MS,
  );

  it(
    'of the service says that it takes a while, and is replaced by a build of everything, but not the other way around',
    async () => {
      const folder = newSmallFolder();
      for (const name of ['src', 'bench']) {
        mkdirSync(join(folder, name));
        writeFileSync(join(folder, name, 'main.ts'), `export const main = '${name}';\n`);
      }
      const isBuilt = (name: string): boolean => existsSync(join(folder, 'dist', name, 'main.js'));
      expect((await build(folder, '--service')).stderr).toMatch(/^Building; this takes /);
      expect([isBuilt('src'), isBuilt('bench')]).toEqual([true, false]);
      expect((await build(folder, '--service')).stderr).toBe('');
      for (const words of [['--no-check'], []]) {
        await build(folder, ...words);
        expect([isBuilt('src'), isBuilt('bench')]).toEqual([true, true]);
        expect((await build(folder, '--service')).stderr).toBe('');
        expect(isBuilt('bench')).toBe(true);
      }
    },
    TIMEOUT_MS,
  );

  describe('of a read-only src and of packages', () => {
    let folder: string;
    let data: string;

    beforeAll(async () => {
      folder = newFolder(NAME, []);
      data = join(folder, 'src/data');
      mkdirSync(data, { recursive: true });
      mkdirSync(join(folder, 'bench'));
      writeFileSync(
        join(folder, 'src/main.ts'),
        `import { isString } from 'class-validator';\nimport { Body } from '@nestjs/common';\nexport const main = [isString, Body];\n`,
      );
      writeFileSync(
        join(folder, 'bench/main.ts'),
        `import { isArray as isList } from 'class-validator';\nexport const main = isList;\n`,
      );
      writeFileSync(join(data, 'list.txt'), 'evil.example\n', { mode: 0o444 });
      chmodSync(data, 0o555);
      await build(folder, '--no-check');
    }, TIMEOUT_MS);
    afterAll(() => chmodSync(data, 0o755));

    it('has folders that a later build can delete', () => {
      expect(readFileSync(join(folder, 'dist/src/data/list.txt'), 'utf8')).toBe('evil.example\n');
      // The mode is tested, because root can delete the contents of every folder.
      expect(statSync(join(folder, 'dist/src/data')).mode & 0o200).toBe(0o200);
      expect(existsSync(join(folder, 'dist/src/main.ts'))).toBe(false);
    });

    it('bundles only those parts of a package that its files import', () => {
      const bundles = join(folder, 'dist/node_modules');
      const text = readdirSync(bundles, { recursive: true, encoding: 'utf8' })
        .filter((file) => file.endsWith('.mjs'))
        .map((file) => readFileSync(join(bundles, file), 'utf8'))
        .join('');
      for (const name of ['isString', 'isArray', 'Body'])
        expect(text).toMatch(new RegExp(`export ?{[^}]*\\b${name}\\b`));
      expect(text).not.toMatch(/libphonenumber|isMobilePhone/);
    });
  });
});
