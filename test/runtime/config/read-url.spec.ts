import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { readUrl } from '../../../src/runtime/config.js';

const root = join(import.meta.dirname, '../../..');

it('readUrl parses a URL with Latin-1 letters every time, also after thousands of calls', () => {
  let read = 0;
  for (let n = 0; n < 50_000; n += 1)
    if (readUrl('https://bücher.example/a')?.host === 'xn--bcher-kva.example') read += 1;
  expect(read).toBe(50_000);
  expect(readUrl('https://a b/')).toBeUndefined();
});

it('the service never calls URL.canParse, which rejects Latin-1 letters on Node 20', () => {
  const callers = ['src', 'projections'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && readFileSync(join(root, folder, name), 'utf8').includes('canParse('))
      .map((name) => join(folder, name)),
  );
  expect(callers).toEqual([]);
});
