import { execFile } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createDatabase, type TestDatabase } from '../support/postgres.js';
import { type Program, startProgram } from '../support/program.js';

/** Two builds. */
const PATIENCE_MS = 600_000;

/** Letters, blanks, quotes and what a pattern, a URL or a shell would read as something else. */
const NAME = `my dir ü 100% "q" 'a' $& (1)`;

describe('The build', () => {
  const parent = mkdtempSync(join(tmpdir(), 'build-'));
  const folder = join(parent, NAME);
  let database: TestDatabase;
  let service: Program | undefined;

  beforeAll(async () => {
    mkdirSync(folder);
    for (const name of [
      'package.json',
      'package-lock.json',
      'nest-cli.json',
      'tsconfig.json',
      'src',
      'projections',
      'build',
    ])
      cpSync(name, join(folder, name), { recursive: true });
    symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
    database = await createDatabase();
  });

  afterAll(async () => {
    await service?.stop('SIGKILL');
    await database.drop();
    rmSync(parent, { recursive: true, force: true });
  });

  const build = () => promisify(execFile)(process.execPath, ['build/build.mjs'], { cwd: folder });
  const main = join(folder, 'dist/src/main.js');

  it(
    'makes a service that starts in a folder of any name, and describes the same interface',
    async () => {
      await build();
      const env = { DATABASE_URL: database.url, PORT: '0', DATA_DIR: join(parent, 'data') };
      service = startProgram('src/main.js', [], { env, installed: join(folder, 'dist') });
      const url = await service.listening();
      const { paths, components } = (await (await fetch(`${url}/openapi.json`)).json()) as Record<string, unknown>;
      const due = JSON.parse(readFileSync(process.env['OPENAPI_DOCUMENT']!, 'utf8')) as Record<string, unknown>;
      expect({ paths, components }).toEqual({ paths: due['paths'], components: due['components'] });
    },
    PATIENCE_MS,
  );

  it(
    'leaves what is built alone while it is current, or until its successor is whole',
    async () => {
      const before = statSync(main).ino;
      await build();
      expect(statSync(main).ino).toBe(before);

      writeFileSync(
        join(folder, 'src/main.ts'),
        `${readFileSync(join(folder, 'src/main.ts'), 'utf8')}const n: string = 1;\n`,
      );
      await expect(build()).rejects.toThrow("Type 'number' is not assignable to type 'string'");
      expect(statSync(main).ino).toBe(before);

      cpSync('src/main.ts', join(folder, 'src/main.ts'));
      writeFileSync(join(folder, 'src/added.ts'), 'export const added = true;\n');
      let isBuilding = true;
      let missing = 0;
      const watching = (async () => {
        for (; isBuilding; await new Promise((next) => setTimeout(next, 5))) if (!existsSync(main)) missing += 1;
      })();
      await build();
      isBuilding = false;
      await watching;
      // It may meet the instant between the two renames.
      expect(missing).toBeLessThanOrEqual(1);
      expect(existsSync(join(folder, 'dist/src/added.js'))).toBe(true);
      expect((await fetch(`${service!.url()}/dashboard`)).status).toBe(200);
    },
    PATIENCE_MS,
  );
});
