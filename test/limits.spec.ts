import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const root = join(import.meta.dirname, '..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

/** The files and settings that the last column of a table in docs/operations/security.md names, row by row. */
const sourcesUnder = (heading: string): string[][] =>
  read('docs/operations/security.md')
    .split(`\n## ${heading}\n`)[1]!
    .split('\n## ')[0]!
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .slice(2)
    .map((line) => [...line.split('|')[4]!.matchAll(/`([^`]+)`/g)].map(([, source]) => source!));

const isKnown = (source: string): boolean =>
  source.includes('/')
    ? ['', 'src/', 'src/asset-check/'].some((prefix) => existsSync(join(root, prefix + source)))
    : !/^[A-Z_]+$/.test(source) || read('src/runtime/config.ts').includes(`'${source}'`);

describe('The tables of limits in docs/operations/security.md', () => {
  const refusals = sourcesUnder('Where a 429 is decided');
  const limits = sourcesUnder('Limits');

  it('name for each limit a file or a setting that exists', () => {
    expect(limits.length).toBeGreaterThan(20);
    expect([...limits, ...refusals].filter((sources) => sources.length === 0)).toEqual([]);
    expect([...limits, ...refusals].flat().filter((source) => !isKnown(source))).toEqual([]);
  });

  it('name every file that answers 429, and no other file first', () => {
    const deciding = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && read(`src/${name}`).includes('new TooManyRequests('))
      .map((name) => `src/${name.replaceAll('\\', '/')}`);
    expect(new Set(refusals.map(([first]) => first))).toEqual(new Set(deciding));
  });
});
