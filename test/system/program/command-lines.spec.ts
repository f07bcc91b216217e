import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { removeFolder, temporaryFolder } from '../postgres/embedded/installation.js';
import { type Program, startProgram } from '../../support/program.js';

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
  let service: Program;
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
    await service.stop();
    await removeFolder(folder);
  });

  it('show no password and no key, from the first start to an operator’s call', async () => {
    const dataDir = join(folder, 'data');
    const key = 'tp_shownInNoCommandLine';
    const env = { DATA_DIR: dataDir, DATABASE_URL: '', EVENTSTORE_URL: '', PORT: '0', TP_KEY: key };
    service = startProgram('src/cli.js', ['start'], { env });
    await service.listening();
    expect(await startProgram('src/cli.js', ['projections', 'status'], { env }).ended()).toBe(0);
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
