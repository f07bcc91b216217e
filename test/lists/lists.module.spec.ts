import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from '@jest/globals';
import { Guards } from '../../src/asset-check/lists/guards.js';
import type { ConfiguredSources } from '../../src/asset-check/sources/configured-sources.js';
import { buildOf, ListsModule } from '../../src/lists/lists.module.js';
import { ConfigError, readConfig } from '../../src/runtime/config.js';

const folder = mkdtempSync(join(tmpdir(), 'lists-module-'));
afterAll(() => rmSync(folder, { recursive: true }));

const keyOf = (pem: string): string => {
  const file = join(folder, 'key.pem');
  writeFileSync(file, pem);
  return file;
};
const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey.export({ format: 'pem', type: 'pkcs8' });

it.each([
  ['is absent', () => join(folder, 'none.pem'), /ENOENT/],
  ['is no key', () => keyOf('a text'), /unsupported|DECODER/i],
  ['is a key of another algorithm', () => keyOf(rsa as string), /of rsa; it must be of ed25519/],
])('A process does not start if the signing key of local lists %s', (_, file, why) => {
  const config = readConfig({ LISTS: 'on', LISTS_SIGNING_KEY_FILE: file() });
  const open = (): unknown => ListsModule.with(config);
  expect(open).toThrow(ConfigError);
  expect(open).toThrow(why);
  expect(open).toThrow('LISTS_SIGNING_KEY_FILE cannot be used');
});

it('Lists are not built of own statuses that are behind the log, as after a rebuild of the read models has begun', async () => {
  const own = { refresh: async () => true, asOf: 100_000 };
  const build = buildOf({ own, version: undefined } as unknown as ConfiguredSources);
  await expect(build(130_001)).rejects.toThrow('do not include the newest events yet');
  expect(await build(130_000)).toBeUndefined();
});

it('A guard that was replaced during the build is no reason to publish the previous build again', async () => {
  let version = 0;
  const guards = Object.defineProperty(new Guards(), 'version', { get: () => (version += 1) });
  const sources = { sources: [], suffixes: { added: [] }, guards, version: 'any' };
  await expect(buildOf(sources as unknown as ConfiguredSources)(0)).rejects.toThrow('was replaced during the build');
});
