import { createPrivateKey } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { readSigner } from '../../src/lists/publish-lists.js';
import { operatorCall } from '../support/operator-call.js';

const folder = mkdtempSync(join(tmpdir(), 'lists-key-'));
afterAll(() => rmSync(folder, { recursive: true }));

const makeKey = (file: string) => operatorCall({ DATABASE_URL: '' }, 'lists', 'key', file);

describe('lists key', () => {
  it('writes a private key that only its owner can read, and prints the public key', async () => {
    const file = join(folder, 'key.pem');
    const { code, out, err } = await makeKey(file);
    const pem = readFileSync(file, 'utf8');
    expect(createPrivateKey(pem).asymmetricKeyType).toBe('ed25519');
    expect([code, out.trim()]).toEqual([0, readSigner(pem).publicKey]);
    expect(err).toContain(`Set LISTS_SIGNING_KEY_FILE to ${file}`);
    expect(out + err).not.toContain('PRIVATE KEY');
    if (process.platform !== 'win32') expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('does not replace a file', async () => {
    const file = join(folder, 'kept.pem');
    await makeKey(file);
    const kept = readFileSync(file, 'utf8');
    expect(await makeKey(file)).toMatchObject({ code: 1, out: '', err: expect.stringContaining(`${file} exists`) });
    expect(readFileSync(file, 'utf8')).toBe(kept);
  });

  it('names a folder that does not exist', async () => {
    const file = join(folder, 'none', 'key.pem');
    expect(await makeKey(file)).toMatchObject({ code: 1, out: '', err: expect.stringContaining(file) });
  });
});
