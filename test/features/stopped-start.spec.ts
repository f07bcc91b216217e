import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { removeFolder, serverOf, temporaryFolder } from '../embedded-postgres/installation.js';
import { eventually } from '../support/eventually.js';

const PATIENCE_MS = 60_000;

describe('An API on a database of its own that is asked to stop half-way through its start', () => {
  let folder: string;
  let dataDir: string;
  let api: ChildProcess;

  const start = (): void => {
    api = spawn(process.execPath, [resolve('dist/src/main.js')], {
      env: { ...process.env, DATA_DIR: dataDir, DATABASE_URL: '', PORT: '0', LOG_LEVEL: 'error' },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
  };
  const ended = async (): Promise<unknown> => {
    if (api.exitCode === null && api.signalCode === null) await once(api, 'exit');
    return api.signalCode ?? api.exitCode;
  };
  const server = (): Promise<number | undefined> => serverOf(dataDir);

  beforeAll(async () => {
    folder = await temporaryFolder();
    dataDir = join(folder, 'data');
    start();
    await once(api, 'message');
    api.kill('SIGTERM');
    expect(await ended()).toBe(0);
  }, PATIENCE_MS);
  afterEach(() => void api.kill('SIGKILL'));
  afterAll(() => removeFolder(folder));

  it.each(['SIGTERM', 'SIGINT'] as const)(
    'stops it too at %s, and ends well',
    async (signal) => {
      start();
      await eventually('the server runs', async () => (await server()) !== undefined);
      api.kill(signal);
      expect(await ended()).toBe(0);
      expect(await server()).toBeUndefined();
    },
    PATIENCE_MS,
  );

  it(
    'stops it too where whoever started it is gone, which it does not outlive',
    async () => {
      start();
      await eventually('the server runs', async () => (await server()) !== undefined);
      api.disconnect();
      await ended();
      expect(await server()).toBeUndefined();
    },
    PATIENCE_MS,
  );
});
