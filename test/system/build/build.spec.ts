import { execFile } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createDatabase, type TestDatabase } from '../../support/postgres.js';
import { type Program, startProgram } from '../../support/program.js';

/** A whole build, which takes a quarter of a minute of a core. */
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

/** The types of this project are checked by its own build; the compiler names what a union is made of in no order. */
const inNoOrder = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (key, part: unknown) =>
    key === 'enum' && Array.isArray(part) ? new Set(part) : part,
  );

describe('The build', () => {
  let database: TestDatabase;
  let service: Program | undefined;

  beforeAll(async () => {
    database = await createDatabase();
  });

  afterAll(async () => {
    await service?.stop('SIGKILL');
    await database.drop();
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  });

  it(
    'makes a service that starts in a folder of any name, describes the same interface and outlives the next build',
    async () => {
      const folder = newFolder(NAME, ['package-lock.json', 'src', 'projections']);
      await build(folder, '--no-check');
      const dist = join(folder, 'dist');
      const env = { DATABASE_URL: database.url, PORT: '0', DATA_DIR: join(folder, 'data') };
      // Built by itself, so what it imports comes from the bundles, but for what is one for everybody.
      const list = `import './src/app.module.js'; import { createRequire } from 'node:module';
        console.log(JSON.stringify(Object.keys(createRequire(import.meta.url).cache)));`;
      const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', list], {
        cwd: dist,
      });
      const outside = (JSON.parse(stdout) as string[]).filter((file) => !file.includes('/dist/node_modules/'));
      expect(outside).toEqual([expect.stringContaining('/node_modules/reflect-metadata/')]);
      const { resolve: find } = createRequire(join(dist, 'src/main.js'));
      for (const name of ['@nestjs/core', 'kysely', 'pg']) expect(find(name)).toContain('/dist/node_modules/');

      service = startProgram('src/main.js', [], { env, installed: dist });
      const url = await service.listening();
      const { paths, components } = (await (await fetch(`${url}/openapi.json`)).json()) as Record<string, unknown>;
      const due = JSON.parse(readFileSync(process.env['OPENAPI_DOCUMENT']!, 'utf8')) as Record<string, unknown>;
      expect(inNoOrder([paths, components])).toEqual(inNoOrder([due['paths'], due['components']]));

      cpSync(dist, `${dist}.next`, { recursive: true });
      renameSync(dist, `${dist}.old`);
      renameSync(`${dist}.next`, dist);
      rmSync(`${dist}.old`, { recursive: true });
      expect((await fetch(`${url}/dashboard`)).status).toBe(200);
    },
    PATIENCE_MS,
  );

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
      let isBuilding = true;
      let missing = 0;
      const watching = (async () => {
        for (; isBuilding; await new Promise((next) => setTimeout(next, 5))) if (!existsSync(main)) missing += 1;
      })();
      await build(folder);
      isBuilding = false;
      await watching;
      // It may meet the instant between the two renames.
      expect(missing).toBeLessThanOrEqual(1);
      expect(existsSync(join(folder, 'dist/src/added.js'))).toBe(true);
    },
    PATIENCE_MS,
  );
});
