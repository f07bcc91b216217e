import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { MasterKeys } from '../../../src/webhooks/secrets.js';

it('The file of the master keys may start with a byte order mark, and its lines may end in CR LF', () => {
  const folder = mkdtempSync(join(tmpdir(), 'keys-'));
  const file = join(folder, 'keys');
  const keys = ['A', 'B'].map((letter) => `${letter.repeat(43)}=`);
  const newest = (text: string): string => {
    writeFileSync(file, text);
    return new MasterKeys(file).newest().id;
  };
  try {
    expect(newest(`\uFEFF${keys[0]}\r\n`)).toBe(newest(`${keys[0]}\n`));
    expect(newest(`\uFEFF# a comment\r\n${keys.join('\r\n')}`)).toBe(newest(keys.join('\n')));
  } finally {
    rmSync(folder, { recursive: true });
  }
});
