import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { removeFolder, serverOf, temporaryFolder } from '../embedded-postgres/installation.js';
import { eventually } from '../support/eventually.js';

describe('An operator’s call that starts the database itself', () => {
  let folder: string;
  let dataDir: string;

  const call = (...words: string[]): ChildProcess =>
    spawn(process.execPath, [resolve('dist/src/cli.js'), ...words], {
      env: { ...process.env, DATA_DIR: dataDir, DATABASE_URL: '', LOG_FORMAT: 'json' },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
  const codeOf = async (child: ChildProcess): Promise<unknown> => {
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    return child.signalCode ?? child.exitCode;
  };
  const server = (): Promise<number | undefined> => serverOf(dataDir);

  beforeAll(async () => {
    folder = await temporaryFolder();
    dataDir = join(folder, 'data');
    expect(await codeOf(call('keys', 'list'))).toBe(0);
  });
  afterAll(() => removeFolder(folder));

  it.each([
    ['SIGINT', ['keys', 'list']],
    ['SIGTERM', ['brands', 'list']],
    ['SIGINT', ['projections', 'verify']],
    ['SIGTERM', ['parked', 'list']],
  ] as const)('stops it again where %s ends the call %j, half-way through its start', async (signal, words) => {
    const child = call(...words);
    await eventually('the server runs', async () => (await server()) !== undefined);
    child.kill(signal);
    expect(await codeOf(child)).toBe(1);
    expect(await server()).toBeUndefined();
  });

  it('ends a replay that waits for its input, with a sentence', async () => {
    const child = call('replay', '-');
    let said = '';
    child.stderr!.on('data', (chunk: Buffer) => (said += chunk.toString()));
    await eventually('it says where it sends to', () => said.includes('Sending to'));
    await eventually('the server runs', async () => (await server()) !== undefined);
    // The key for it has been issued, or is about to be.
    await new Promise((next) => setTimeout(next, 1_500));
    child.kill('SIGINT');
    expect(await codeOf(child)).toBe(1);
    expect(said).toContain('0 events were answered');
    expect(await server()).toBeUndefined();
  });
});
