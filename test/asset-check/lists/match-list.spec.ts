import { describe, expect, it } from '@jest/globals';
import { FAILED } from '../../../src/asset-check/verdict.js';
import { HostingSuffixes } from '../../../src/asset-check/lists/hosting-suffixes.js';
import { InvalidList } from '../../../src/asset-check/lists/collector.js';
import type { Format } from '../../../src/asset-check/lists/parse-list.js';
import { matchList } from '../../../src/asset-check/lists/match-list.js';
import { SuffixHashes } from '../../../src/asset-check/lists/host-table.js';
import { parseContent } from '../../../src/assets/parse-content.js';
import { HOSTILE_ENTRIES } from '../../support/cases/hostile-entries.js';
import { brief, listOf } from '../../support/list-of.js';

const EVM = '0xabcdefabcdef0123456789abcdefabcdef012345';
const PLAIN = `
# A comment, and a blank line

evil.example
  Shouting.EXAMPLE.   # with a comment
https://with-scheme.example/
münchen.example
deep.sub.nested.example
github.io
blogs.example
8.8.8.8
[2606:4700::1111]
${EVM}
15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5
x.com
# refused from here on
com
co.uk
org.im
localhost
127.0.0.1
192.168.1.1
*.wild.example
user@evil.example
`;

const CASES: readonly (readonly [content: string, result: string])[] = [
  ['evil.example', 'BLOCKED evil.example'],
  ['https://EVIL.example./x?y#z', 'BLOCKED evil.example'],
  ['a.evil.example', 'BLOCKED evil.example parent-domain'],
  ['a.b.c.evil.example', 'BLOCKED evil.example parent-domain'],
  ['notevil.example', 'not-found'],
  ['evil.example.com', 'not-found'],
  ['example', 'parse-error'],
  ['shouting.example', 'BLOCKED Shouting.EXAMPLE.'],
  ['with-scheme.example', 'BLOCKED https://with-scheme.example/'],
  ['xn--mnchen-3ya.example', 'BLOCKED münchen.example'],
  ['www.münchen.example', 'BLOCKED münchen.example parent-domain'],
  ['deep.sub.nested.example', 'BLOCKED deep.sub.nested.example'],
  ['x.deep.sub.nested.example', 'BLOCKED deep.sub.nested.example parent-domain'],
  ['sub.nested.example', 'not-found'],
  ['nested.example', 'not-found'],
  ['github.io', 'BLOCKED github.io'],
  ['someone.github.io', 'github.io hosting-domain'],
  ['a.someone.github.io/path', 'github.io hosting-domain'],
  ['blogs.example', 'BLOCKED blogs.example'],
  ['someone.blogs.example', 'blogs.example hosting-domain'],
  ['8.8.8.8', 'BLOCKED 8.8.8.8'],
  ['http://134744072/', 'BLOCKED 8.8.8.8'],
  ['8.8.4.4', 'not-found'],
  ['[2606:4700:0::1111]', 'BLOCKED [2606:4700::1111]'],
  [EVM.toUpperCase(), `BLOCKED ${EVM}`],
  ['0x0000000000000000000000000000000000000001', 'not-found'],
  ['5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY', 'BLOCKED 15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5'],
  ['x.com', 'BLOCKED x.com'],
  ['x.com/Someone', 'x.com hosting-domain'],
  ['https://t.me/someone', 'unsupported-type'],
  ['@someone', 'unsupported-type'],
  ['someone@evil.example', 'BLOCKED evil.example parent-domain'],
  ['someone@a.evil.example', 'BLOCKED evil.example parent-domain'],
  ['someone@notevil.example', 'not-found'],
  ['someone@github.io', 'github.io hosting-domain'],
  ['someone@gmail.com', 'unsupported-type'],
  ['sites.google.com/view/x', 'unsupported-type'],
  ['ipfs://QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKTi1E', 'unsupported-type'],
  ['anything.com', 'not-found'],
  ['com', 'parse-error'],
  ['co.uk', 'not-found'],
  ['evil.co.uk', 'not-found'],
  ['a.wild.example', 'BLOCKED *.wild.example parent-domain'],
  ['wild.example', 'not-found'],
];

describe('A plain list', () => {
  it.each(CASES)('returns for %s: %s', async (content, result) => {
    const { check } = await listOf(PLAIN, 'plain', { hosting: ['blogs.example'] });
    expect(brief(check(content))).toBe(result);
  });

  it('reports rejected entries with the reason', async () => {
    const { content } = await listOf(PLAIN, 'plain');
    expect(content.table.size).toBe(13);
    expect(content.rejected).toEqual([
      { reason: 'public-suffix', count: 3, examples: ['com', 'co.uk', 'org.im'] },
      { reason: 'private', count: 3, examples: ['localhost', '127.0.0.1', '192.168.1.1'] },
      { reason: 'unsupported', count: 1, examples: ['user@evil.example'] },
    ]);
  });

  it('returns ALLOWED if its verdict is ALLOWED', async () => {
    const { check } = await listOf('good.example', 'plain', { verdict: 'ALLOWED' });
    expect(brief(check('good.example'))).toBe('ALLOWED good.example');
    expect(brief(check('a.good.example'))).toBe('ALLOWED good.example parent-domain');
  });

  const PAGES = `
evil.example
https://sites.google.com/view/Evil/
medium.com/@evil-news   # a publishing profile
x.com/Evil_Support
telegra.ph/a/b
ordinary.example/login
https://query.example/?q=1
ordinary.example/second
gmail.com
`;

  it.each([
    ['sites.google.com/view/Evil', 'BLOCKED https://sites.google.com/view/Evil/'],
    ['https://sites.google.com/view/Evil/login?x#y', 'BLOCKED https://sites.google.com/view/Evil/ parent-domain'],
    ['sites.google.com/view/Evil2', 'not-found'],
    ['sites.google.com/view', 'not-found'],
    ['sites.google.com/view/evil', 'not-found'],
    ['telegra.ph/a/b/c/d', 'BLOCKED telegra.ph/a/b parent-domain'],
    ['telegra.ph/a/../a/b', 'BLOCKED telegra.ph/a/b'],
    ['medium.com/@evil-news', 'BLOCKED medium.com/@evil-news'],
    ['https://medium.com/@Evil-News/a-post-1', 'BLOCKED medium.com/@evil-news parent-domain'],
    ['medium.com/@evil-newspaper/a-post-1', 'not-found'],
    ['https://twitter.com/evil_support/status/1', 'BLOCKED x.com/Evil_Support'],
    ['@evil_support', 'BLOCKED x.com/Evil_Support'],
    ['t.me/evil_support', 'not-found'],
    ['ordinary.example/login', 'BLOCKED ordinary.example/login'],
    ['ordinary.example/login/next', 'BLOCKED ordinary.example/login parent-domain'],
    ['ordinary.example/log', 'not-found'],
    ['ordinary.example', 'not-found'],
    ['query.example', 'BLOCKED https://query.example/?q=1'],
    ['gmail.com', 'BLOCKED gmail.com'],
    ['someone@gmail.com', 'gmail.com hosting-domain'],
  ])('with page entries returns for %s: %s', async (content, result) => {
    const { check } = await listOf(PAGES, 'plain');
    expect(brief(check(content))).toBe(result);
  });

  it('returns source-error until it has been read', () => {
    const { parsed } = parseContent('evil.example');
    expect(matchList(undefined, 'plain', parsed!, new SuffixHashes(), new HostingSuffixes())).toBe(FAILED);
  });
});

describe('Lists in other formats', () => {
  const HOSTS = `
127.0.0.1 localhost
::1 localhost ip6-localhost
0.0.0.0 evil.example www.evil2.example # two
0.0.0.0\tTABBED.example
not-an-address.example
${'0.0.0.0 more.example\n'.repeat(6)}`;
  const POLKADOT = '{"allow":["good.example","github.io"],"deny":["evil.example"]}';
  const cases: readonly (readonly [Format, string, string, string])[] = [
    ['hosts', HOSTS, 'evil.example', 'BLOCKED evil.example'],
    ['hosts', HOSTS, 'a.www.evil2.example', 'BLOCKED www.evil2.example parent-domain'],
    ['hosts', HOSTS, 'evil2.example', 'not-found'],
    ['hosts', HOSTS, 'tabbed.example', 'BLOCKED TABBED.example'],
    ['hosts', HOSTS, 'not-an-address.example', 'not-found'],
    ['hosts', HOSTS, EVM, 'unsupported-type'],
    ['json', `["evil.example", 5, null, {"a": 1}, ["x.example"], "${EVM}"]\n`, 'evil.example', 'BLOCKED evil.example'],
    ['json', `["evil.example", 5, null, {"a": 1}, ["x.example"], "${EVM}"]\n`, 'x.example', 'not-found'],
    ['json', `["evil.example", "${EVM}"]`, EVM, `BLOCKED ${EVM}`],
    ['polkadot', POLKADOT, 'evil.example', 'BLOCKED evil.example'],
    ['polkadot', POLKADOT, 'good.example', 'ALLOWED good.example'],
    ['polkadot', '{"allow":["github.io"],"deny":["evil.github.io"]}', 'evil.github.io', 'BLOCKED evil.github.io'],
    ['polkadot', '{"allow":["github.io"],"deny":["x.github.io"]}', 'evil.github.io', 'github.io hosting-domain'],
    [
      'polkadot',
      '{"allow":["a.evil.example"],"deny":["evil.example"]}',
      'b.a.evil.example',
      'ALLOWED a.evil.example parent-domain',
    ],
    [
      'polkadot',
      '{"allow":["evil.example"],"deny":["a.evil.example"]}',
      'b.a.evil.example',
      'BLOCKED a.evil.example parent-domain',
    ],
    ['polkadot', '{"allow":["same.example"],"deny":["same.example"]}', 'same.example', 'ALLOWED same.example'],
    ['polkadot', '{"deny":["evil.example"]}', EVM, 'unsupported-type'],
    [
      'metamask',
      '{"whitelist":["good.example"],"blacklist":["a.good.example"]}',
      'a.good.example',
      'ALLOWED good.example parent-domain',
    ],
    ['metamask', '{"allowlist":["good.example"],"blocklist":["evil.example"]}', 'evil.example', 'BLOCKED evil.example'],
    ['metamask', '{"blocklist":["x.example"],"fuzzylist":["metamask.io"]}', 'metemask.io', 'BLOCKED metamask.io'],
    ['metamask', '{"blocklist":["x.example"],"fuzzylist":["metamask.io"],"tolerance":0}', 'metemask.io', 'not-found'],
    ['metamask', '{"blocklist":["x.example"],"fuzzylist":["metamask.io"],"tolerance":1}', 'metemisk.io', 'not-found'],
    ['metamask', '{"blocklist":["github.io"]}', 'someone.github.io', 'github.io hosting-domain'],
    [
      'metamask',
      '{"blocklist":["x.example"],"version":2,"more":{"blocklist":["y.example"]}}',
      'y.example',
      'not-found',
    ],
  ];

  it.each(cases)(
    'return the right result: the %s list %s returns for %s: %s',
    async (format, text, content, result) => {
      const { check } = await listOf(text, format);
      expect(brief(check(content))).toBe(result);
    },
  );

  it.each([
    ['plain', ''],
    ['plain', '# nothing but words\n\n'],
    ['plain', 'com\nlocalhost\n*\n'],
    ['plain', '<!DOCTYPE html><html><body>evil.example</body></html>'],
    ['hosts', '\n<html>\n0.0.0.0 evil.example'],
    ['json', '[]'],
    ['json', '{}'],
    ['json', '{"0":"evil.example"}'],
    ['json', '["evil.example"'],
    ['json', '["evil.example",]'],
    ['json', '["evil.example"] trailing'],
    ['json', '"evil.example"'],
    ['json', 'null'],
    ['json', ''],
    ['json', '[7, null, {}]'],
    ['metamask', '["evil.example"]'],
    ['metamask', '{"whitelist":["good.example"]}'],
    ['metamask', '{"blacklist":"evil.example"}'],
    ['metamask', '{"blacklist":{"0":"evil.example"}}'],
    ['metamask', '{"blacklist":["evil.example"],"tolerance":50}'],
    ['metamask', '{"blacklist":["evil.example"],"tolerance":"2"}'],
    ['metamask', '{"blacklist":["evil.example"],"fuzzylist":"metamask.io"}'],
    ['metamask', `{"blacklist":["evil.example"],"fuzzylist":[${'"metamask.io",'.repeat(1_000)}"x.example"]}`],
    ['polkadot', '{"allow":["good.example"]}'],
    ['polkadot', '{"deny":7}'],
    ['polkadot', '{"__proto__":["evil.example"]}'],
    ['polkadot', `{"deny":${'['.repeat(10_000)}`],
  ] as const)('reject a document that is not a list: %s %s', async (format, text) => {
    await expect(listOf(text, format)).rejects.toBeInstanceOf(InvalidList);
  });
});

describe('Accounts and profiles in a list', () => {
  const [evil, good] = [`0x${'1'.repeat(40)}`, `0x${'2'.repeat(40)}`];

  it('block a payment whose recipient is listed', async () => {
    const { check } = await listOf(`${evil}\n`, 'plain');
    expect(brief(check(`ethereum:${good}/transfer?address=${evil}`))).toBe(`BLOCKED ${evil}`);
    expect(brief(check(`eip155:1:${evil}`))).toBe(`BLOCKED ${evil}`);
    expect(brief(check(`ethereum:${good}/transfer?address=${good}`))).toBe('not-found');
  });

  it('are found both by the own host of a profile and by its link', async () => {
    const { check } = await listOf('evil.t.me\nhttps://medium.com/@evil\n', 'plain');
    for (const content of ['evil.t.me', 'https://t.me/Evil', 'tg://resolve?domain=evil'])
      expect(brief(check(content))).toBe('BLOCKED evil.t.me');
    expect(brief(check('evil.medium.com'))).toBe('BLOCKED https://medium.com/@evil');
    expect(brief(check('evil.medium.com/a-post'))).toBe('BLOCKED https://medium.com/@evil parent-domain');
    expect(brief(check('other.t.me'))).toBe('not-found');
  });
});

describe('A list from an attacker', () => {
  it('cannot allow or block everything, inject a script or change the type of an entry', async () => {
    const entries = [
      ...HOSTILE_ENTRIES,
      7,
      null,
      true,
      { host: 'evil.example' },
      ['evil.example'],
      [['com']],
      'fine.example',
    ];
    const { content, check } = await listOf(JSON.stringify(entries), 'json', { verdict: 'ALLOWED' });
    expect(content.table.size).toBe(1);
    expect(content.rejected.reduce((sum, { count }) => sum + count, 0)).toBe(entries.length - 1);
    expect(brief(check('anything.com'))).toBe('not-found');
    expect(brief(check('fine.example'))).toBe('ALLOWED fine.example');
  });
});
