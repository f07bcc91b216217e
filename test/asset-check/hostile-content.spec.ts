import { describe, expect, it } from '@jest/globals';
import { assetKey } from '../../src/assets/asset-key.js';
import { readContent } from '../../src/assets/read-content.js';
import { listOf } from './asking.js';

const LONGEST = 4_096;
const repeat = (text: string, length = LONGEST): string =>
  text.repeat(Math.ceil(length / text.length)).slice(0, length);

/** Content made to keep a reader busy. */
const HOSTILE: Record<string, string> = {
  '2,000 labels': repeat('a.', 4_000),
  '127 labels': `${repeat('a.', 252)}b`,
  'labels under a listed host': `${repeat('a.', 230)}evil.example`,
  'one label': repeat('a'),
  'letters beyond ASCII': repeat('é'),
  'five hundred ideographs': `${String.fromCodePoint(...Array.from({ length: 500 }, (_, n) => 0x4e00 + n * 7))}.com`,
  'four thousand ideographs': String.fromCodePoint(...Array.from({ length: LONGEST }, (_, n) => 0x4e00 + n * 5)),
  'mixed scripts': `${repeat('аa例', 480)}.com`,
  'right to left': `${repeat('\u0627\u0301', 480)}.com`,
  'combining marks out of order': `a${repeat('\u0315\u0300\u05ae', 480)}.com`,
  joiners: `a${repeat('\u200d', 480)}.com`,
  'soft hyphens': `a${repeat('\u00ad', 480)}.com`,
  'ligatures that expand': `${repeat('ﷺ', 480)}.com`,
  'labels of punycode': `${repeat('xn--a-0ca.', 500)}com`,
  'one label of punycode': `xn--${repeat('99999', 480)}.com`,
  'punycode that is none': `xn--a.${repeat('a', 1_000)}^`,
  'labels of punycode that is none': `${repeat('xn--a.', 1_000)}^`,
  'percent chains': repeat('%25'),
  'a percent-coded host': `${repeat('%C3%A9', 1_000)}.com`,
  'percent codes in a path': `evil.example/${repeat('%2e%2e/', 4_000)}`,
  'dots in a path': `evil.example/${repeat('../', 4_000)}`,
  slashes: repeat('/'),
  backslashes: `http:${repeat('\\', 4_000)}`,
  'slashes in a path': `evil.example${repeat('//', 4_000)}`,
  'parts of a path': `evil.example${repeat('/@a', 4_000)}%`,
  ats: repeat('@'),
  users: `${repeat('a:b@', 4_000)}evil.example`,
  colons: repeat(':'),
  'an endless IPv6 address': repeat('a:'),
  digits: repeat('9'),
  'dotted digits': repeat('1.'),
  'a hexadecimal number': `0x${repeat('f', 4_000)}`,
  base58: repeat('1'),
  'base58 of the length of an address': repeat('z', 106),
  'base58 of the longest address': repeat('z', 256),
  bech32: `bc1${repeat('q', 120)}`,
  base32: repeat('A', 58),
  brackets: repeat('[.]'),
  'open brackets': repeat('['),
  'ways to be defanged': repeat('h[x]p'),
  'content on IPFS': `x.example${repeat('/ipfs/', 4_000)}`,
  'a link with many parameters': `x.com/?${repeat('a=b&', 4_000)}`,
  'an e-mail address': `${repeat('a.', 64)}@${repeat('é', 250)}`,
  blanks: ' '.repeat(LONGEST),
  'blanks between letters': `a${' '.repeat(LONGEST - 2)}a`,
  'a scheme in pieces': `java${repeat('\n', 4_000)}script:x`,
  NULs: repeat('\u0000'),
  'lone surrogates': repeat('\ud800'),
  'two thousand labels of a URL': `https://${repeat('a.', 4_000)}evil.example/`,
  'a user of four thousand ideographs': `https://${repeat('例子', 4_000)}@evil.example/`,
  'a URL of ideographs': `https://${String.fromCodePoint(...Array.from({ length: 4_000 }, (_, n) => 0x4e00 + n * 5))}.com`,
  'a URL of ideographs in percent codes': `https://${encodeURIComponent(
    String.fromCodePoint(...Array.from({ length: 440 }, (_, n) => 0x4e00 + n * 5)),
  )}.com`,
  'a URL of labels that are as long as can be': `https://${Array.from({ length: 15 }, (_, k) =>
    String.fromCodePoint(...Array.from({ length: 250 }, (_, n) => 0x4e00 + n * 5 + k)),
  ).join('.')}.com`,
  'a URL of marks out of order': `https://a${repeat('\u0315\u0300\u05ae', 4_000)}.com`,
  'a URL of what is ignored': `https://evil${repeat('\u00ad', 4_000)}.example`,
  'letters beyond ASCII in the path of a profile': `https://x.com/${repeat('가', 4_000)}`,
  'percent codes in the path of a profile': `https://x.com/${repeat('%7e', 4_000)}`,
  'slashes in the path of a page': `https://sites.google.com${repeat('/a', 4_000)}`,
  'colons with an end': `${repeat('a:', 4_000)}%`,
  'colons in brackets': `https://[${repeat('a:', 4_000)}]`,
  'blanks inside': `a${repeat('\u00a0', 4_000)}a`,
  'blanks and control characters': `${repeat('\u0000\u00a0', 4_000)}evil.example`,
};

/** The least of many runs, in ms: what the work takes, whatever else the machine does. */
const leastOf = (work: () => void): number => {
  let least = Number.POSITIVE_INFINITY;
  for (let run = 0; run < 40 && least > 0.2; run += 1) {
    const started = performance.now();
    work();
    least = Math.min(least, performance.now() - started);
  }
  return least;
};

describe('hostile content', () => {
  it.each(Object.entries(HOSTILE).map(([name, content]) => ({ name, content })))(
    'of $name is read within a millisecond',
    ({ content }) => {
      expect(leastOf(() => readContent(content))).toBeLessThan(1);
      for (const type of ['URL', 'PAGE', 'ADDRESS', 'EMAIL', 'IPFS', 'TWITTER', 'NEW'])
        expect(leastOf(() => assetKey({ type, content }))).toBeLessThan(1);
    },
  );

  it('is asked of a list within a millisecond', async () => {
    const entries = ['evil.example', ...Array.from({ length: 126 }, (_, n) => `${repeat('a.', 2 * n)}b.example`)];
    const fuzzy = Array.from({ length: 500 }, (_, n) => `${repeat('metamask', 20 + (n % 40))}${n}.io`);
    const { ask } = await listOf(JSON.stringify({ blocklist: entries, fuzzylist: fuzzy, tolerance: 3 }), 'metamask');
    for (const content of Object.values(HOSTILE)) expect(leastOf(() => ask(content))).toBeLessThan(1);
  });
});
