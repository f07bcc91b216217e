import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const root = join(import.meta.dirname, '..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

interface Row {
  readonly what: string;
  readonly limit: string;
  readonly sources: readonly string[];
}

const sectionOf = (page: string, heading: string): string => page.split(`\n## ${heading}\n`)[1]!.split('\n## ')[0]!;

const rowsOf = (page: string, heading: string): Row[] =>
  sectionOf(page, heading)
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .slice(1)
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .filter(([, what]) => !/^-+$/.test(what!))
    .map(([, what, limit, , setting]) => ({
      what: what!,
      limit: limit!,
      sources: [...setting!.matchAll(/`([^`]+)`/g)].map(([, source]) => source!),
    }));

const UNITS: Readonly<Record<string, number>> = {
  min: 60_000,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
  s: 1_000,
  '%': 0.01,
};

/** The numbers of a cell in bytes, milliseconds, shares or pieces; `/64` and what a unit does not follow stay as they are. */
const numbersOf = (limit: string): number[] =>
  [...limit.matchAll(/(?<![/\w.,])(\d[\d,]*(?:\.\d+)?)(?: ?(KiB|MiB|GiB|ms|min|s|%)(?!\w))?/g)].map(
    ([, digits, unit]) => Number(digits!.replaceAll(',', '')) * (UNITS[unit ?? ''] ?? 1),
  );

/** The values of all number literals of a text and of their products, such as `8 * 1024 * 1024`. */
const valuesIn = (source: string): Set<number> => {
  const values = new Set<number>();
  const text = source.replaceAll(/\bMiB\b/g, '1048576');
  const NUMBER = String.raw`\d[\d_]*(?:\.\d+)?(?:e\d+)?`;
  for (const [product] of text.matchAll(new RegExp(String.raw`(?<![\w.])${NUMBER}(?: ?\*\*? ?${NUMBER})*`, 'g'))) {
    const factors = product.replaceAll('_', '').split(/ ?\* ?(?!\*)/);
    const value = product.includes('**')
      ? undefined
      : factors.map(Number).reduce((result, factor) => result * factor, 1);
    for (const each of [...factors.map(Number), value ?? NaN]) values.add(each);
  }
  return values;
};

const textsOf = (source: string): string => {
  if (/^[A-Z_]+$/.test(source)) {
    const line = read('src/runtime/config.ts')
      .split('\n')
      .filter((each) => each.includes(`'${source}'`));
    expect({ source, found: line.length > 0 }).toEqual({ source, found: true });
    return line.join('\n').replaceAll(/'(\d+)'/g, '$1');
  }
  if (!source.includes('/')) return '';
  const path = ['', 'src/', 'src/asset-check/']
    .map((prefix) => prefix + source)
    .find((each) => existsSync(join(root, each)));
  expect({ source, found: path !== undefined }).toEqual({ source, found: true });
  return statSync(join(root, path!)).isFile()
    ? read(path!)
    : readdirSync(join(root, path!), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts'))
        .map((name) => read(`${path}/${name}`))
        .join('\n');
};

const untold = ({ limit, sources }: Row, textOf: (source: string) => string = textsOf): number[] => {
  const values = valuesIn(sources.map(textOf).join('\n'));
  // A second may be written as 1, 1_000 or 1.5 in the code.
  return numbersOf(limit).filter((value) => !values.has(value) && !values.has(value / 1_000) && !values.has(1 / value));
};

describe('The table of limits', () => {
  const page = read('docs/security.md');
  const refusals = rowsOf(page, 'Where a 429 is decided');
  const rows = [...rowsOf(page, 'Limits'), ...refusals];

  it('is read', () => {
    expect(rows.length).toBeGreaterThan(20);
    expect(numbersOf('64 KiB; 30 s; 1.5 s; 1,000 contents; 20 GiB; IPv6: /64; 25 %')).toEqual([
      65_536,
      30_000,
      1_500,
      1_000,
      20 * 1024 ** 3,
      0.25,
    ]);
    expect([...valuesIn('const A = 8 * 1024 * 1024; b(10_000)')]).toEqual([8, 1024, 8 * 1024 ** 2, 10_000]);
  });

  it.each(rows.map((row) => [row.what, row] as const))('says of %s what the code says', (_what, row) => {
    expect({ ...row, untold: untold(row) }).toEqual({ ...row, untold: [] });
    expect(row.sources).not.toEqual([]);
  });

  it('names every file that refuses with 429, and no other first', () => {
    const deciding = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && read(`src/${name}`).includes('new TooManyRequests('))
      .map((name) => `src/${name.replaceAll('\\', '/')}`);
    expect(new Set(refusals.map(({ sources }) => sources[0]))).toEqual(new Set(deciding));
  });

  it('is found out if a number has moved on', () => {
    const row = { what: 'a body', limit: '64 KiB', sources: ['a.ts'] };
    expect(untold(row, () => 'const MAX = 64 * 1024;')).toEqual([]);
    expect(untold(row, () => 'const MAX = 32 * 1024;')).toEqual([65_536]);
  });
});
