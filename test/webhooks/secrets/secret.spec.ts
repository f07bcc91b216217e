import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ConfigError, readConfig } from '../../../src/runtime/config.js';
import { MasterKeys, openMasterKeys, secretText, signingKey, signingKeys } from '../../../src/webhooks/secrets.js';

const A = Buffer.alloc(32, 1).toString('base64');
const B = Buffer.alloc(32, 2).toString('base64');

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'master-keys-'));
  path = join(folder, 'keys');
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

describe('The file of the master keys', () => {
  it('is created at the first start of an embedded installation, readable only by its owner, and kept', () => {
    const config = readConfig({ DATA_DIR: folder });
    const first = openMasterKeys(config)!.newest();
    expect(openMasterKeys(config)!.newest()).toEqual(first);
    expect(readdirSync(folder)).toEqual(['webhook-master-key']);
    expect(statSync(join(folder, 'webhook-master-key')).mode & 0o777).toBe(0o600);
  });

  it('is not created if the settings name a file, or if the database is not embedded', () => {
    expect(() => openMasterKeys(readConfig({ WEBHOOK_MASTER_KEY_FILE: path }))).toThrow(ConfigError);
    expect(openMasterKeys(readConfig({ DATABASE_URL: 'postgres://x/y', DATA_DIR: folder }))).toBeUndefined();
    expect(readdirSync(folder)).toEqual([]);
  });

  it('is rotated by a new line at its end: new secrets use the new key, and old secrets do not change', () => {
    writeFileSync(path, `# made by hand\n\n${A}\n`);
    const keys = new MasterKeys(path);
    const old = keys.newest();
    appendFileSync(path, `${B}\n`);
    expect(keys.newest().id).not.toBe(old.id);
    expect(keys.find(old.id)).toEqual(old);
    expect(new MasterKeys(path).find(old.id)).toEqual(old);
  });

  it('is read again if an unknown key is requested', () => {
    writeFileSync(path, `${A}\n`);
    const keys = new MasterKeys(path);
    keys.newest();
    appendFileSync(path, `${B}\n`);
    const { id } = new MasterKeys(path).newest();
    expect(keys.find(id)).toBeDefined();
    expect(keys.find('other')).toBeUndefined();
  });

  it.each([
    ['nothing', '', 'has no key'],
    ['a short key', 'c2hvcnQ=\n', 'line 1: not a key'],
    ['a word behind a key', `${A}\n${B} two\n`, 'line 2: not a key'],
  ])('that has %s is rejected with the line number and without the text of the line', (_, text, message) => {
    writeFileSync(path, text);
    const read = (): unknown => new MasterKeys(path).newest();
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(message);
    for (const line of text.split('\n').filter((each) => each !== '')) expect(read).not.toThrow(line);
  });
});

describe('The secret of a webhook', () => {
  const names = { webhookId: 'wh_1', generation: 1 };

  it('has 32 bytes, which differ for each endpoint, generation and master key', () => {
    writeFileSync(path, `${A}\n${B}\n`);
    const keys = new MasterKeys(path);
    const newest = keys.newest();
    writeFileSync(path, `${A}\n`);
    const other = new MasterKeys(path).newest();
    const all = [
      signingKey(newest, names),
      signingKey(newest, { ...names, generation: 2 }),
      signingKey(newest, { ...names, webhookId: 'wh_11' }),
      signingKey(newest, { webhookId: 'wh_', generation: 11 }),
      signingKey(other, names),
    ].map(secretText);
    expect(new Set(all).size).toBe(5);
    for (const secret of all) expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(secretText(signingKey(newest, names))).toBe(all[0]);
  });

  it('signs together with the previous secret until the rotation ends, each derived from its own master key', () => {
    writeFileSync(path, `${A}\n`);
    const old = new MasterKeys(path).newest();
    appendFileSync(path, `${B}\n`);
    const keys = new MasterKeys(path);
    const newest = keys.newest();
    const rotated = {
      webhookId: 'wh_1',
      generation: 2,
      masterKey: newest.id,
      previousGeneration: 1,
      previousMasterKey: old.id,
      previousUntil: 1_000,
    };
    const [second, first] = [signingKey(newest, { ...names, generation: 2 }), signingKey(old, names)];
    expect(signingKeys(keys, rotated, 999)).toEqual([second, first]);
    expect(signingKeys(keys, rotated, 1_000)).toEqual([second]);
    expect(signingKeys(keys, { ...names, masterKey: newest.id }, 0)).toEqual([signingKey(newest, names)]);
    expect(() => signingKeys(keys, { ...names, masterKey: 'lost' }, 0)).toThrow('The master key lost of the secret of');
  });

  it('is not stored in the file of the master keys', () => {
    writeFileSync(path, `${A}\n`);
    const secret = signingKey(new MasterKeys(path).newest(), names);
    expect(readFileSync(path, 'utf8')).not.toContain(secret.toString('base64'));
  });
});
