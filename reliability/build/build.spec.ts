import { execFile } from 'node:child_process';
import { cpSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createDatabase, type TestDatabase } from '../../test/support/postgres.js';
import { type Program, startProgram } from '../../test/support/program.js';
import { build, NAME, newFolder, removeFolders } from '../../test/system/build/project-folder.js';

/** A whole build, which takes a quarter of a minute of a core. */
const TIMEOUT_MS = 600_000;

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
    removeFolders();
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
    TIMEOUT_MS,
  );
});
