import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { closeDataDir, findClusterLayout } from '../../../src/postgres/embedded/cluster-layout.js';
import { OWN_NAMES } from '../../../src/runtime/config.js';

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

it('findClusterLayout finds one cluster, whichever way leads to the data directory', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'data-dir-'));
  const dataDir = join(folder, 'data');
  mkdirSync(join(dataDir, 'postgres'), { recursive: true });
  // As root, the cluster may be elsewhere; a path in the data directory is the case in question.
  writeFileSync(join(dataDir, 'postgres', 'place.json'), JSON.stringify({ cluster: 'cluster' }));
  symlinkSync(dataDir, join(folder, 'link'));
  const { cluster } = await findClusterLayout(dataDir);
  expect((await findClusterLayout(join(folder, 'link'))).cluster).toBe(cluster);
  rmSync(folder, { recursive: true });
});

describe('closeDataDir', () => {
  let dataDir: string;
  const logged: string[] = [];

  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'data-dir-'));
    logged.length = 0;
    for (const name of ['postgres', 'lists', 'demo', 'lost+found']) mkdirSync(join(dataDir, name), { mode: 0o755 });
    for (const file of ['webhook-master-key', 'demo/acme.header'])
      writeFileSync(join(dataDir, file), 'secret', { mode: 0o644 });
    chmodSync(dataDir, 0o755);
  });
  afterEach(() => rmSync(dataDir, { recursive: true }));
  const close = (): Promise<void> => closeDataDir(dataDir, undefined, (line) => logged.push(line));

  it('restricts a directory that contains only what the service keeps there, as after a restored backup', async () => {
    await close();
    expect(logged).toEqual([]);
    expect(modeOf(dataDir)).toBe('700');
  });

  it('restricts everything of the service, but not the directory itself, if the directory contains other files', async () => {
    writeFileSync(join(dataDir, 'notes.txt'), '', { mode: 0o644 });
    await close();
    expect(logged).toEqual([expect.stringContaining('contains other files, such as "notes.txt"')]);
    expect([modeOf(dataDir), modeOf(join(dataDir, 'notes.txt'))]).toEqual(['755', '644']);
    for (const name of OWN_NAMES)
      expect([name, modeOf(join(dataDir, name))]).toEqual([name, name === 'webhook-master-key' ? '600' : '700']);
    expect(modeOf(join(dataDir, 'demo/acme.header'))).toBe('600');
  });

  it('knows every name, because the service writes to DATA_DIR only by `inDataDir`', () => {
    const writers = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter(
      (file) =>
        file.endsWith('.ts') && /(?:join|resolve)\((?:\w+\.)*dataDir\b/.test(readFileSync(join('src', file), 'utf8')),
    );
    expect(writers.sort()).toEqual([join('asset-check', 'lists', 'list-copy.ts'), join('runtime', 'config.ts')]);
  });
});
