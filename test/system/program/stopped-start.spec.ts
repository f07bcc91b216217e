import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { join } from 'node:path';
import { openDatabase } from '../../../src/postgres/embedded/embedded-postgres.js';
import { removeFolder, serverOf, temporaryFolder } from '../../support/installation.js';
import { eventually } from '../../support/eventually.js';
import { type Program, startProgram } from '../../support/program.js';

describe('An API with its own database that is asked to stop while it starts', () => {
  let folder: string;
  let dataDir: string;
  let api: Program;

  const start = (): void => {
    api = startProgram('src/main.js', [], { env: { DATA_DIR: dataDir, DATABASE_URL: '', PORT: '0' } });
  };
  const server = (): Promise<number | undefined> => serverOf(dataDir);

  beforeAll(async () => {
    folder = await temporaryFolder();
    dataDir = join(folder, 'data');
    const database = await openDatabase({ databaseUrl: undefined, dataDir }, () => {});
    await database.release();
  });
  afterEach(() => void api.process.kill('SIGKILL'));
  afterAll(() => removeFolder(folder));

  it('also stops the database at SIGTERM, and exits with 0', async () => {
    start();
    await eventually('the server runs', async () => (await server()) !== undefined);
    expect(await api.stop('SIGTERM')).toBe(0);
    expect(await server()).toBeUndefined();
  });

  it('also stops the database when its parent process has ended, and exits', async () => {
    start();
    await eventually('the server runs', async () => (await server()) !== undefined);
    api.process.disconnect();
    await api.ended();
    expect(await server()).toBeUndefined();
  });
});
