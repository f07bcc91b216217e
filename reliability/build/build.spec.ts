import { execFile } from 'node:child_process';
import { cpSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createDatabase, type TestDatabase } from '../../test/support/postgres.js';
import { type Program, startProgram } from '../../test/support/program.js';
import { build, NAME, newFolder, removeFolders } from '../../test/support/project-folder.js';

/** The test runs a whole build, which takes about 15 seconds on an idle core. */
const TIMEOUT_MS = 600_000;

/** Makes the order of `enum` values irrelevant, because the compiler lists the members of a union in any order. */
const ignoringEnumOrder = (value: unknown): unknown =>
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
    'produces a service that starts in a folder of any name, serves the same OpenAPI document and survives the next build',
    async () => {
      const folder = newFolder(NAME, ['package-lock.json', 'src', 'projections']);
      await build(folder, '--no-check');
      const dist = join(folder, 'dist');
      const env = { DATABASE_URL: database.url, PORT: '0', DATA_DIR: join(folder, 'data') };
      // Everything is imported from the bundles, except `reflect-metadata`, which all modules must share.
      const list = `import './src/api/app.module.js'; import { createRequire } from 'node:module';
        console.log(JSON.stringify(Object.keys(createRequire(import.meta.url).cache)));`;
      const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', list], {
        cwd: dist,
      });
      const outside = (JSON.parse(stdout) as string[]).filter((file) => !file.includes('/dist/node_modules/'));
      expect(outside).toEqual([expect.stringContaining('/node_modules/reflect-metadata/')]);
      const { resolve: resolveModule } = createRequire(join(dist, 'src/main.js'));
      for (const name of ['@nestjs/core', 'kysely', 'pg']) expect(resolveModule(name)).toContain('/dist/node_modules/');

      service = startProgram('src/main.js', [], { env, installed: dist });
      const url = await service.listening();
      const { paths, components } = (await (await fetch(`${url}/openapi.json`)).json()) as Record<string, unknown>;
      const expected = JSON.parse(readFileSync(process.env['OPENAPI_DOCUMENT']!, 'utf8')) as Record<string, unknown>;
      expect(ignoringEnumOrder([paths, components])).toEqual(
        ignoringEnumOrder([expected['paths'], expected['components']]),
      );

      cpSync(dist, `${dist}.next`, { recursive: true });
      renameSync(dist, `${dist}.old`);
      renameSync(`${dist}.next`, dist);
      rmSync(`${dist}.old`, { recursive: true });
      expect((await fetch(`${url}/dashboard`)).status).toBe(200);
    },
    TIMEOUT_MS,
  );
});
