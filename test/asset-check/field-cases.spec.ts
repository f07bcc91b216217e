import { describe, expect, it } from '@jest/globals';
import type { Format } from '../../src/asset-check/lists/parse-list.js';
import { assetKey } from '../../src/assets/asset-key.js';
import { parseContent } from '../../src/assets/parse-content.js';
import { listOf } from '../support/list-of.js';

const metamask = (...blacklist: string[]): string =>
  JSON.stringify({ version: 2, tolerance: 2, fuzzylist: [], whitelist: [], blacklist });

const QM = 'QmaMMPbpjEBqQMfksDTrto1usRpNat9xL6J6ocJ7YNSz3k';
const CID = 'bafybeifh3smysh2mf37vaohwc2gpcydxdouxzlemuujbvwwi4eplnurfua';
const XRP = 'rGWrZyQqhTp9Xu7G5Pkayo7bXjH4k4QYpf';
const BYRON = [
  'Ae2tdPwUPEZLs4HtbuNey7tK4hTKrwNwYtGqp7bDfCy2WdR3P6735W5Yfpe',
  'DdzFFzCqrhsrcTVhLygT24QwTnNqQqQ8mZrq5jykUzMveU26sxaH529kMpo7VhPrt5pwW3dXeB2k3EEvKcNBRmzCfcQ7dTkyGzTs658C',
];

/** Lists as people publish them, with contents that they block and contents that they do not list. */
const LISTS: readonly (readonly [Format, string, blocked: readonly string[], unknown: readonly string[]])[] = [
  [
    'hosts',
    '127.0.0.1 localhost\r\n0.0.0.0 fc01-a.example # reported by fc01-b.example\r\n',
    ['fc01-a.example'],
    ['fc01-b.example'],
  ],
  [
    'hosts',
    '0.0.0.0 # fc03-a.example\r\n127.0.0.1 localhost # see fc03-b.example\r\n0.0.0.0 fc03-c.example\r\n',
    ['fc03-c.example'],
    ['fc03-a.example', 'fc03-b.example'],
  ],
  ['plain', '# hosts\r\nfc04.example # added 2026-01-01\r\nfc04-b.example\r\n', ['fc04.example', 'fc04-b.example'], []],
  ['metamask', metamask('fc06.example', QM), [`https://ipfs.io/ipfs/${QM}`], []],
  ['plain', `fc08.example\n${CID}\n`, [`https://ipfs.io/ipfs/${CID}`], []],
  [
    'metamask',
    metamask('fc09.example', 'sites.google.com/view/fc09-evil'),
    ['https://sites.google.com/view/fc09-evil', 'https://sites.google.com/view/fc09-evil/below'],
    ['https://sites.google.com/view/fc09-other'],
  ],
  [
    'plain',
    'fc11.example\ncdpn.io/fc11/fullpage/abc\nuploader.irys.xyz/Fc11EvilTx\n',
    ['https://cdpn.io/fc11/fullpage/abc', 'https://uploader.irys.xyz/Fc11EvilTx'],
    ['https://cdpn.io/other/fullpage/abc'],
  ],
  [
    'plain',
    'https://fc31-a.example/?ref=1\nhttps://fc31-b.example/#/connect\nfc31-c.example\n',
    ['fc31-a.example', 'https://fc31-b.example/'],
    [],
  ],
  [
    'plain',
    'https://fc33.example/verify/account\nfc33-b.example\n',
    ['https://fc33.example/verify/account'],
    ['https://fc33.example/'],
  ],
  [
    'plain',
    '*.fc34-a.example\n.fc34-b.example\nfc34-c.example\n',
    ['x.fc34-a.example', 'x.fc34-b.example'],
    ['fc34-a.example'],
  ],
  [
    'hosts',
    '0.0.0.0 fc35-a.example\n216.239.38.120 fc35-b.example #forcesafesearch\n',
    ['fc35-a.example'],
    ['fc35-b.example'],
  ],
  [
    'plain',
    'wordpress.com\nghost.io\nsubstack.com\nfc39.example\n',
    ['fc39.example'],
    ['fc39-some.wordpress.com', 'fc39-some.ghost.io', 'fc39-some.substack.com'],
  ],
  ['plain', `fc90.example\n${XRP}?dt=33722\n`, [`${XRP}?dt=33722`, `${XRP}:33722`], [XRP, `${XRP}?dt=1`]],
  ['plain', `fc91.example\n${XRP}\n`, [XRP, `${XRP}?dt=1`, `${XRP}-4294967295`], []],
  [
    'hosts',
    `0.0.0.0 fc92.example // fc92-b.example\n${'0.0.0.0 fc92-c.example\n'.repeat(20)}`,
    ['fc92-c.example'],
    ['fc92-b.example'],
  ],
];

/** Reported assets, and for each the contents that its status must apply to. */
const OWN: readonly (readonly [type: string, content: string, spellings: readonly string[]])[] = [
  [
    'URL',
    'ӏedger-fc13.example',
    ['https://ӏedger-fc13.example/', 'https://Ӏedger-fc13.example/', 'Ӏedger-fc13.example'],
  ],
  ['URL', 'ↄ-fc14.example', ['https://Ↄ-fc14.example/']],
  ['URL', 'gieß-fc16.example', ['https://GIEẞ-fc16.example/']],
  ['URL', 'fc18.example', ['metamask://dapp/fc18.example', 'https://metamask.app.link/dapp/fc18.example']],
  ['URL', 'fc19.example', ['https://link.metamask.io/dapp/fc19.example']],
  [
    'URL',
    'fc21.example',
    [
      'https://go.cb-w.com/dapp?cb_url=https%3A%2F%2Ffc21.example',
      'https://phantom.app/ul/browse/https%3A%2F%2Ffc21.example?ref=x',
      'trust://open_url?url=https://fc21.example',
      'googlechrome://navigate?url=https://fc21.example',
    ],
  ],
  ['URL', 'fc23.example', ['solana:https%3A%2F%2Ffc23.example%2Fpay%3Fid%3D1']],
  [
    'ADDRESS',
    XRP,
    [
      XRP,
      'XVLhHMPHU98es4dbozjVtdWzVrDjtV5fdx1mHp98tDMoQXb',
      `${XRP}?dt=33722`,
      `xrpl:0:${XRP}-495`,
      'xrpl:0:XVLhHMPHU98es4dbozjVtdWzVrDjtV18pX8yuPT7y4xaEHi',
      `${XRP}?dt=0`,
      `${XRP}?dt=4294967295`,
      // The parameter is not a valid tag, so the payment goes to the account.
      `${XRP}?dt=4294967296`,
    ],
  ],
  ...BYRON.map((address) => ['ADDRESS', address, [address]] as const),
  ['URL', 'fc41.example', ['http%3A%2F%2Ffc41.example:80/']],
  ['URL', 'fc42.example', ['<URL:https://fc42.example/x>', '[claim](https://fc42.example)']],
];

const isBlocked = (result: unknown): boolean => (result as { status?: string }).status === 'BLOCKED';

describe('A list as people publish it', () => {
  it.each(LISTS)(
    'in the format %s blocks the intended contents and no others: %j',
    async (format, text, blocked, unknown) => {
      const { check } = await listOf(text, format);
      for (const content of blocked) expect([content, isBlocked(check(content))]).toEqual([content, true]);
      for (const content of unknown) expect([content, isBlocked(check(content))]).toEqual([content, false]);
    },
  );

  it.each([
    '\n<!-- generated -->\n<!DOCTYPE html>\n<html><head><title>503</title></head>\n<body>\nfc37.example\n</body></html>\n',
    '<!-- 404 --> <html>\n<body><pre>\nfc38.example\n</pre>\n',
    Buffer.from('\ufefffc93.example\r\nfc94.example\r\n', 'utf16le').toString('latin1'),
  ])('is rejected completely if it is another kind of document: %j', async (text) => {
    await expect(listOf(text, 'plain')).rejects.toThrow(/not a list|no usable entries/);
  });

  it.each([
    '; x.example',
    '// x.example',
    '||x.example^',
    '@@||x.example^$important',
    'x.example##.ad',
    'x.example#@#.ad',
    '/x.example/',
    'address=/x.example/0.0.0.0',
    'server=/x.example/',
    'local-zone: "x.example" always_nxdomain',
    'x.example CNAME .',
    'DOMAIN-SUFFIX,x.example',
    'x.example,2026-01-01',
    '"x.example",',
    'x.example|y',
    '\0x.example',
    'https://u:p@x.example/',
    'metamask://dapp/x.example',
  ])('counts the line %j as rejected and creates no entry from it', async (line) => {
    const others = Array.from({ length: 20 }, (_, n) => `other-${n}.example`);
    const { check, content } = await listOf([...others, line].join('\n'), 'plain');
    expect(content.rejected).toEqual([{ reason: expect.any(String), count: 1, examples: [expect.any(String)] }]);
    for (const derived of ['x.example', 'y.x.example', 'metamask.app.link', 'https://metamask.app.link/dapp/x.example'])
      expect([derived, isBlocked(check(derived))]).toEqual([derived, false]);
  });
});

describe('A status that an organization reports', () => {
  it.each(OWN)('for the %s %s applies to every spelling', (type, content, spellings) => {
    const key = assetKey({ type, content });
    for (const spelling of spellings)
      expect([spelling, parseContent(spelling).parsed?.keys]).toEqual([spelling, expect.arrayContaining([key])]);
  });

  it('for a name with a sharp s does not apply to the name with ss', () => {
    expect(parseContent('https://giess-fc16.example/').parsed!.keys).not.toContain(
      assetKey({ type: 'URL', content: 'gieß-fc16.example' }),
    );
  });
});
