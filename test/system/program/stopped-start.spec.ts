import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { join } from 'node:path';
import { openDatabase } from '../../../src/postgres/embedded/embedded-postgres.js';
import { removeFolder, serverOf, temporaryFolder } from '../../support/installation.js';
import { eventually } from '../../support/eventually.js';
import { type Program, startProgram } from '../../support/program.js';

describe('`start`, which has a database of its own, if it is asked to stop while it starts', () => {
  let folder: string;
  let dataDir: string;
  let program: Program;

  const start = (): void => {
    program = startProgram('src/cli.js', ['start'], { env: { DATA_DIR: dataDir, DATABASE_URL: '', PORT: '0' } });
  };
  const server = (): Promise<number | undefined> => serverOf(dataDir);

  beforeAll(async () => {
    folder = await temporaryFolder();
    dataDir = join(folder, 'data');
    const database = await openDatabase({ databaseUrl: undefined, dataDir }, () => {});
    await database.release();
  });
  afterEach(() => void program.process.kill('SIGKILL'));
  afterAll(() => removeFolder(folder));

  it('also stops the database at SIGTERM, and exits with 0', async () => {
    start();
    await eventually('the server runs', async () => (await server()) !== undefined);
    expect(await program.stop('SIGTERM')).toBe(0);
    expect(await server()).toBeUndefined();
  });
});
