import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { removeFolder, temporaryFolder } from '../embedded-postgres/installation.js';

const CLI = resolve('dist/src/cli.js');

const read = (path: string): string => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
};

/** The command lines of all processes of this machine now, which every user may read. */
const commandLines = (): string[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => read(`/proc/${pid}/cmdline`).replaceAll('\0', ' '))
    .filter((line) => line !== '');

(process.platform === 'linux' ? describe : describe.skip)('The command lines of the service', () => {
  let folder: string;
  let service: ChildProcess;
  const seen = new Set<string>();
  const watching = new AbortController();
  let watch: Promise<void>;

  beforeAll(async () => {
    folder = await temporaryFolder();
    watch = (async () => {
      while (!watching.signal.aborted) {
        for (const line of commandLines()) seen.add(line);
        await sleep(10);
      }
    })();
  });
  afterAll(async () => {
    watching.abort();
    await watch;
    if (service.exitCode === null) {
      service.kill('SIGTERM');
      await once(service, 'exit');
    }
    await removeFolder(folder);
  });

  it('show no password and no key, from the first start to an operator’s call', async () => {
    const dataDir = join(folder, 'data');
    const key = 'tp_shownInNoCommandLine';
    const env = { ...process.env, DATA_DIR: dataDir, DATABASE_URL: '', EVENTSTORE_URL: '', PORT: '0', TP_KEY: key };
    service = spawn(process.execPath, [CLI, 'start'], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    await new Promise<void>((listening, reject) => {
      const onText = (text: Buffer): void => void (text.includes('Listening on') && listening());
      service.stdout!.on('data', onText);
      service.stderr!.on('data', onText);
      service.on('exit', (code) => reject(new Error(`The service ended with ${code}; is it built?`)));
    });
    await promisify(execFile)(process.execPath, [CLI, 'projections', 'status'], { env });
    const lines = [...seen];
    for (const part of ['initdb', `${dataDir}`, 'dist/src/main.js', 'dist/projections/main.js', 'projections status'])
      expect(lines).toContainEqual(expect.stringContaining(part));
    const files = readdirSync(dataDir, { recursive: true, encoding: 'utf8' });
    const passwordFile = files.find((name) => /(?:^|\/)[^/]*password[^/]*$/.test(name));
    const password = read(join(dataDir, passwordFile!)).trim();
    expect(password.length).toBeGreaterThan(16);
    for (const secret of [password, key]) expect(lines.filter((line) => line.includes(secret))).toEqual([]);
  });
});
