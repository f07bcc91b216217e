import { describe, expect, it } from '@jest/globals';
import type { DialectName } from '../../../src/asset-check/lists/dialects.js';
import type { Format as AnyFormat } from '../../../src/asset-check/lists/parse-list.js';
import { brief, listOf } from '../../support/list-of.js';
import { cpuMs } from '../../support/cpu.js';

type Format = Exclude<AnyFormat, 'csv' | DialectName>;

const CID = 'QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKTi1E';
const EVM = '0xabcdefabcdef0123456789abcdefabcdef012345';

/** Writes a list that contains an entry, in each format. */
const FORMATS: Readonly<Record<Format, (entry: string) => string>> = {
  plain: (entry) => `other.example\n${entry}\n`,
  hosts: (entry) => `0.0.0.0 other.example\n0.0.0.0 ${entry}\n`,
  json: (entry) => JSON.stringify(['other.example', entry]),
  metamask: (entry) => JSON.stringify({ blacklist: ['other.example', entry], whitelist: ['good.example'] }),
  polkadot: (entry) => JSON.stringify({ allow: [], deny: ['other.example'], denySub: [entry] }),
};
const ALL_FORMATS = Object.keys(FORMATS) as Format[];
const WITH_PAGES = ALL_FORMATS.filter((format) => format !== 'hosts');

const BLOCKED = (match: string) => `BLOCKED ${match}`;
const BELOW = (match: string) => `BLOCKED ${match} parent-domain`;
const NOT_FOUND = 'not-found';

type Lookups = Readonly<Record<string, (entry: string) => string>>;
const no = () => NOT_FOUND;

const FORMS: readonly (readonly [entry: string, formats: readonly Format[], lookups: Lookups])[] = [
  ['x.example', ALL_FORMATS, { 'x.example': BLOCKED, 'a.b.x.example': BELOW, 'yx.example': no }],
  ['X.Example.', ALL_FORMATS, { 'x.example': BLOCKED, 'a.x.example': BELOW }],
  [
    '*.x.example',
    ALL_FORMATS,
    { 'a.x.example': BELOW, 'a.b.x.example': BELOW, 'x.example': no, 'https://x.example/a': no },
  ],
  ['.x.example', ALL_FORMATS, { 'x.example': BLOCKED, 'a.x.example': BELOW, 'a.b.x.example': BELOW }],
  ['https://*.x.example/', ALL_FORMATS, { 'a.x.example': BELOW, 'x.example': no }],
  [
    'https://x.example/?ref=1',
    ALL_FORMATS,
    { 'x.example': BLOCKED, 'https://x.example/b?c': BLOCKED, 'a.x.example': BELOW },
  ],
  ['https://x.example?ref=1', ALL_FORMATS, { 'x.example': BLOCKED }],
  ['http://x.example//', ALL_FORMATS, { 'x.example': BLOCKED }],
  ['//x.example', ALL_FORMATS, { 'x.example': BLOCKED }],
  ['x.example:8443', ALL_FORMATS, { 'x.example': BLOCKED }],
  ['https://x.example/#/connect', ['json', 'plain', 'metamask', 'polkadot'], { 'x.example': BLOCKED }],
  [
    'https://x.example/a/b',
    WITH_PAGES,
    {
      'x.example/a/b': BLOCKED,
      'https://x.example/a/b/': BLOCKED,
      'https://x.example/a/./b?c#d': BLOCKED,
      'x.example/a/b/c/d': BELOW,
      'x.example/a/bc': no,
      'x.example/a/B': no,
      'x.example/a': no,
      'x.example': no,
      'a.x.example': no,
    },
  ],
  ['x.example/a?b=c#d', WITH_PAGES, { 'x.example/a': BLOCKED, 'x.example/a/b': BELOW, 'x.example/ab': no }],
  ['x.example./a/', WITH_PAGES, { 'x.example/a': BLOCKED, 'x.example': no }],
  [
    'x.example/a',
    ['plain', 'json', 'polkadot'],
    { 'www.x.example/a': BELOW, 'b.c.www.x.example/a/d': BELOW, 'www.x.example/b': no, 'yx.example/a': no },
  ],
  // MetaMask's detector compares the whole host of a page.
  ['x.example/a', ['metamask'], { 'x.example/a': BLOCKED, 'www.x.example/a': no }],
  ['*.x.example/a', ['plain', 'json', 'polkadot'], { 'b.x.example/a/c': BELOW, 'x.example/a': no, 'b.x.example': no }],
  [
    'https://x.example/*',
    ALL_FORMATS,
    { 'x.example': BLOCKED, 'https://x.example/b?c': BLOCKED, 'a.x.example': BELOW },
  ],
  ['x.example/**', ALL_FORMATS, { 'x.example': BLOCKED }],
  ['*.x.example/*', ALL_FORMATS, { 'a.x.example': BELOW, 'https://a.x.example/b': BELOW, 'x.example': no }],
  ['https://x.example/a/*', WITH_PAGES, { 'x.example/a/b/c': BELOW, 'x.example/a': BLOCKED, 'x.example/ab': no }],
  [
    'https://urldefense.com/v3/__https://x.example/a*b__;Kw!!AbC$',
    WITH_PAGES,
    { 'https://x.example/a+b': BLOCKED, 'urldefense.com': no },
  ],
  ['.x.example/a', ['plain', 'json', 'polkadot'], { 'b.x.example/a': BELOW, 'x.example/a': BLOCKED }],
  ['8.8.8.8/a', WITH_PAGES, { 'http://8.8.8.8/a/b': BELOW, '8.8.8.8': no }],
  ['github.io/a', ['plain', 'json', 'polkadot'], { 'github.io/a': BLOCKED, 'someone.github.io/a': no }],
  ['someone.github.io/a', WITH_PAGES, { 'someone.github.io/a/b': BELOW, 'other.github.io/a': no }],
  ['google.com/view/x', ['plain', 'json', 'polkadot'], { 'https://sites.google.com/view/x': no }],
  ['https://docs.google.com/forms/d/x/view?usp=1', WITH_PAGES, { 'docs.google.com/forms/d/x/view': BLOCKED }],
  // The host's own pages on its root: another page of the application, and the host itself, are not named.
  [
    'https://app.uniswap.org/#/swap?outputCurrency=0xA',
    WITH_PAGES,
    {
      'https://app.uniswap.org/#/swap?outputCurrency=0xA': BLOCKED,
      'https://app.uniswap.org/#/swap?outputCurrency=0xB': no,
      'https://app.uniswap.org/': no,
    },
  ],
  [
    'https://maps.google.com/?cid=111',
    WITH_PAGES,
    { 'http://maps.google.com/?cid=111': BLOCKED, 'https://maps.google.com/?cid=222': no, 'maps.google.com': no },
  ],
  [
    'https://remix.ethereum.org/#gist=A',
    WITH_PAGES,
    {
      'https://remix.ethereum.org/#gist=A': BLOCKED,
      'https://remix.ethereum.org/#gist=B': no,
      'remix.ethereum.org': no,
    },
  ],
  [
    'https://cryptpad.fr/form/#/2/form/view/A/',
    WITH_PAGES,
    { 'https://cryptpad.fr/form/#/2/form/view/A/': BLOCKED, 'https://cryptpad.fr/form/#/2/form/view/B/': no },
  ],
  ['*.github.io', ALL_FORMATS, { 'someone.github.io': (entry) => `${entry} hosting-domain`, 'github.io': no }],
  [
    CID,
    WITH_PAGES,
    {
      [CID]: BLOCKED,
      [`ipfs://${CID}/a`]: BLOCKED,
      [`https://ipfs.io/ipfs/${CID}`]: BLOCKED,
      [`https://gateway.example/ipfs/${CID}/index.html`]: BLOCKED,
      [`https://bafybeie5nqv6kd3qnfjupgvz34woh3oksc3iau6abmyajn7qvtf47pxkue.ipfs.dweb.link/a`]: () => BLOCKED(CID),
      'https://ipfs.io/ipfs/QmaMMPbpjEBqQMfksDTrto1usRpNat9xL6J6ocJ7YNSz3k': no,
    },
  ],
  [`ipfs://${CID}`, WITH_PAGES, { [CID]: BLOCKED }],
  [`https://ipfs.io/ipfs/${CID}`, WITH_PAGES, { [`https://dweb.link/ipfs/${CID}`]: BLOCKED }],
  [EVM, ['plain', 'json'], { [EVM]: BLOCKED }],
];

describe('A list entry', () => {
  const rows = FORMS.flatMap(([entry, formats, lookups]) =>
    formats.flatMap((format) =>
      Object.entries(lookups).map(([text, resultOf]) => [entry, format, text, resultOf(entry)] as const),
    ),
  );
  it.each(rows)('%s in a list in the format %s returns for %s: %s', async (entry, format, text, expected) => {
    const { content, check } = await listOf(FORMATS[format](entry), format);
    expect(content.rejected).toEqual([]);
    expect(brief(check(text))).toBe(expected);
  });

  it.each([
    ['*.co.uk', 'public-suffix'],
    ['.co.uk', 'public-suffix'],
    ['co.uk/a', 'public-suffix'],
    ['com', 'public-suffix'],
    ['*.com', 'public-suffix'],
    ['*', 'unreadable'],
    ['*.*.x.example', 'unreadable'],
    ['..x.example', 'unreadable'],
    ['a*.x.example', 'unreadable'],
    ['*.8.8.8.8', 'unreadable'],
    ['x.example/a*', 'unreadable'],
    ['https://x.example/*/a', 'unreadable'],
    ['https://x.example/a*b?c#d', 'unreadable'],
    ['https://x.example/*.html', 'unreadable'],
    ['single', 'unreadable'],
    ['no host', 'unreadable'],
    ['||x.example^', 'unreadable'],
    [`${'a'.repeat(64)}.example`, 'unreadable'],
    ['localhost', 'private'],
    ['http://192.168.1.1/a', 'private'],
    ['x.local', 'private'],
    ['user@x.example', 'unsupported'],
    ['https://good.example@x.example/', 'unsupported'],
    ['ftp://x.example/', 'unsupported'],
    // These name nothing smaller than a host where many people publish.
    ['https://www.youtube.com/?utm_source=x', 'unsupported'],
    ['https://linktr.ee/#top', 'unsupported'],
    ['https://www.paypal.com/?utm_source=x', 'unsupported'],
    ['https://zoom.us/#top', 'unsupported'],
    ['https://www.bing.com/ck/a?!&&p=x', 'unsupported'],
    [`x.example/${'a'.repeat(250)}`, 'too-long'],
    [`x.example/${'a'.repeat(2_000)}`, 'too-long'],
  ] as const)('%s of a list in JSON is rejected as %s', async (entry, reason) => {
    const { content } = await listOf(FORMATS.json(entry), 'json');
    expect(content.table.size).toBe(1);
    expect(content.rejected).toEqual([{ reason, count: 1, examples: [entry.slice(0, 120)] }]);
  });

  it('is rejected if the format does not support its type', async () => {
    for (const [format, entry] of [
      ['hosts', 'x.example/a'],
      ['hosts', CID],
      ['hosts', EVM],
      ['metamask', EVM],
      ['polkadot', EVM],
    ] as const) {
      const { content } = await listOf(FORMATS[format](entry), format);
      expect(content.rejected).toEqual([{ reason: 'unsupported', count: 1, examples: [entry] }]);
    }
  });

  it('is counted by reason if it is rejected, and the first ten entries per reason are kept as examples', async () => {
    const { content } = await listOf(JSON.stringify(['x.example', ...'abcdefghijkl', 'com', 7, null]), 'json');
    expect(content.rejected).toEqual([
      { reason: 'unreadable', count: 14, examples: Array.from('abcdefghij') },
      { reason: 'public-suffix', count: 1, examples: ['com'] },
    ]);
  });
});

describe('Several matching list entries', () => {
  it('are combined if one is for a host and one for its subdomains', async () => {
    for (const text of ['x.example\n*.x.example', '*.x.example\nx.example']) {
      const { check } = await listOf(text, 'plain');
      expect(check('x.example')).toMatchObject({ status: 'BLOCKED' });
      expect(check('a.x.example')).toMatchObject({ status: 'BLOCKED', reason: 'parent-domain' });
    }
    const { check } = await listOf('{"allow":["*.x.example"],"deny":["x.example"]}', 'polkadot');
    expect(check('x.example')).toMatchObject({ status: 'BLOCKED' });
    expect(check('a.x.example')).toMatchObject({ status: 'ALLOWED' });
  });

  it('for a page take precedence over entries for its host, but only BLOCKED is inherited from a parent page', async () => {
    const allowed = await listOf('{"allow":["x.example/a"],"deny":["x.example"]}', 'polkadot');
    expect(brief(allowed.check('x.example/a'))).toBe('ALLOWED x.example/a');
    const { check } = await listOf('{"allow":["x.example/a"],"deny":["x.example","x.example/a/b"]}', 'polkadot');
    expect(brief(check('x.example/a/c'))).toBe('BLOCKED x.example');
    expect(brief(check('x.example/a/b/c'))).toBe('BLOCKED x.example');
    expect(brief(check('x.example/b'))).toBe('BLOCKED x.example');
  });

  it('in a MetaMask list are matched in the order of MetaMask’s detector', async () => {
    const { check, content } = await listOf(
      JSON.stringify({
        blacklist: [
          'good.example/evil',
          'sites.google.com/view/evil',
          CID,
          'x.example/a',
          'x.example.',
          'metemask.io/a',
        ],
        whitelist: ['good.example', 'google.com', 'other.example/a'],
        fuzzylist: ['metamask.io'],
        tolerance: 2,
      }),
      'metamask',
    );
    // Everything on an allowed host is allowed, except IPFS content and user pages.
    expect(brief(check('https://good.example/evil'))).toBe('ALLOWED good.example');
    expect(brief(check(`https://good.example/ipfs/${CID}`))).toBe(`BLOCKED ${CID}`);
    expect(brief(check('https://sites.google.com/view/evil'))).toBe('BLOCKED sites.google.com/view/evil');
    expect(brief(check('https://sites.google.com/view/other'))).not.toMatch(/BLOCKED|ALLOWED/);
    expect(brief(check('https://x.example/a'))).toBe('BLOCKED x.example/a');
    expect(brief(check('https://x.example/b'))).toBe('BLOCKED x.example.');
    expect(brief(check('https://metemask.io/a/b'))).toBe('BLOCKED metamask.io');
    expect(brief(check('https://metemask.io/b'))).toBe('BLOCKED metamask.io');
    // The detector never matches an allowed entry with a path.
    expect(brief(check('https://other.example/a'))).toBe('not-found');
    expect(content.rejected).toEqual([{ reason: 'unsupported', count: 1, examples: ['other.example/a'] }]);
  });

  it('cost little CPU time for a long path and a host with many labels', async () => {
    const { check } = await listOf(Array.from({ length: 10_000 }, (_, n) => `x.example/a/${n}`).join('\n'), 'plain');
    const before = cpuMs();
    for (let n = 0; n < 20; n += 1) check(`https://${'a.'.repeat(100)}x.example/${'b/'.repeat(1_900)}`);
    expect(cpuMs() - before).toBeLessThan(1_000);
  });
});

describe('A line of a hosts file', () => {
  it.each([
    ['0.0.0.0', true],
    ['127.0.0.1', true],
    ['127.0.1.1', true],
    ['127.255.255.254', true],
    ['::', true],
    ['::1', true],
    ['0:0:0:0:0:0:0:1', true],
    ['::0', true],
    ['::ffff:127.0.0.1', true],
    ['0.0.0.1', false],
    ['128.0.0.1', false],
    ['216.239.38.120', false],
    ['192.168.1.1', false],
    ['255.255.255.255', false],
    ['fe80::1%lo0', false],
    ['::2', false],
    ['2001:4860:4802:32::78', false],
  ])('with the address %s blocks the host: %s', async (address, blocks) => {
    const { content, check } = await listOf(`${address} x.example#y.example\n0.0.0.0 z.example\n`, 'hosts');
    expect(brief(check('x.example'))).toBe(blocks ? 'BLOCKED x.example' : 'not-found');
    expect(brief(check('y.example'))).toBe('not-found');
    expect(content.rejected.map(({ reason }) => reason)).toEqual(blocks ? [] : ['redirect']);
  });
});
