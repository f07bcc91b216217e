import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openDatabase } from '../../../src/postgres/embedded/embedded-postgres.js';
import { removeFolder, serverOf, temporaryFolder } from '../../support/installation.js';
import { eventually, eventuallyPasses } from '../../support/eventually.js';
import { type Program, startProgram } from '../../support/program.js';
import { queryOnce } from '../../support/query-once.js';
import { superuserOf } from '../../support/superuser.js';

describe('An operator’s call that starts the database itself', () => {
  let folder: string;
  let dataDir: string;

  const call = (...words: string[]): Program =>
    startProgram('src/cli.js', words, { env: { DATA_DIR: dataDir, DATABASE_URL: '' } });
  const server = (): Promise<number | undefined> => serverOf(dataDir);

  beforeAll(async () => {
    folder = await temporaryFolder();
    dataDir = join(folder, 'data');
    await (await openDatabase({ databaseUrl: undefined, dataDir }, () => {})).release();
    expect(await call('keys', 'list').ended()).toBe(0);
  });
  afterAll(() => removeFolder(folder));

  it.each([
    ['SIGINT', ['keys', 'list'], 1],
    // Code 1 of a verification means that the tables differ.
    ['SIGTERM', ['projections', 'verify'], 3],
  ] as const)(
    'stops the database again if %s ends the call %j while the database starts',
    async (signal, words, code) => {
      const program = call(...words);
      await eventually('the server runs', async () => (await server()) !== undefined);
      expect(await program.stop(signal)).toBe(code);
      expect(await server()).toBeUndefined();
    },
  );

  it('ends `events send` with a message while it waits for input', async () => {
    const program = call('events', 'send', '-');
    await eventually('the call logs where it sends the events', () => program.err().includes('Sending to'));
    await eventually('the server runs', async () => (await server()) !== undefined);
    // The key for the call has been issued, so from here on the call waits for lines.
    await eventuallyPasses(async () => {
      const keys = `select data->>'name' as name from log.events where type = 'ApiKeyIssued'`;
      expect(await queryOnce(await superuserOf(dataDir), keys)).toEqual([{ name: 'events send' }]);
    });
    expect(await program.stop('SIGINT')).toBe(1);
    expect(program.err()).toContain('0 events were answered');
    expect(await server()).toBeUndefined();
  });
});
