import { describe, expect, it } from '@jest/globals';
import type { DialectName } from '../../../src/asset-check/lists/dialects.js';
import { describeRejected } from '../../../src/asset-check/lists/list-entry.js';
import { Guards } from '../../../src/asset-check/lists/guards.js';
import { HostingSuffixes, shippedSuffixes } from '../../../src/asset-check/lists/hosting-suffixes.js';
import { checkerOf, guardOf } from '../checker-of.js';
import { cpuMs } from '../../support/cpu.js';
import { brief, listOf } from '../../support/list-of.js';

const BLOCKED = 'BLOCKED';
const ALLOWED = 'ALLOWED';
const NO = 'UNKNOWN';

/** Lines of each dialect, and what they do with `x.example`. A rejected line names the reason. */
const LINES: readonly (readonly [DialectName, line: string, expected: string])[] = [
  ['adblock', '||x.example^', BLOCKED],
  ['adblock', '||x.example', BLOCKED],
  ['adblock', '||x.example^$important', BLOCKED],
  ['adblock', '||x.example^$all', BLOCKED],
  ['adblock', '||X.example^|', BLOCKED],
  ['adblock', 'x.example', BLOCKED],
  ['adblock', '0.0.0.0 x.example', BLOCKED],
  ['adblock', '@@||x.example^', ALLOWED],
  ['adblock', '@@||x.example^$important', ALLOWED],
  ['adblock', '@@||x.example^$script', 'unsupported'],
  ['adblock', '@@x.example', 'unsupported'],
  ['adblock', '|x.example^', BLOCKED],
  ['adblock', '|x.example|', BLOCKED],
  ['adblock', '|x.example^|$important', BLOCKED],
  ['adblock', '|x.example', 'unsupported'],
  ['adblock', '@@|x.example^', ALLOWED],
  ['adblock', '@@|x.example^|$important', ALLOWED],
  ['adblock', '@@||a*.co.uk^', 'public-suffix'],
  ['adblock', '@@||a*^', 'unreadable'],
  ['adblock', '||a*.x.example^', 'unreadable'],
  ['adblock', '@@||x.*^', 'unreadable'],
  ['adblock', '@@||a*b*c*.x.example^', 'unreadable'],
  ['adblock', '||x.example^$third-party', 'unsupported'],
  ['adblock', '||x.example^$badfilter', 'unsupported'],
  ['adblock', '||x.example/ads^', 'unsupported'],
  ['adblock', '|https://x.example|', 'unsupported'],
  ['adblock', '/x\\.example/', 'unsupported'],
  ['adblock', '@@||x.example^$document', ALLOWED],
  ['adblock', '@@||x.example^$popup', 'unsupported'],
  ['adblock', '@@||x.example^$popup,important', 'unsupported'],
  ['adblock', '@@||x.example^$badfilter', 'unsupported'],
  ['adblock', '||x.example^$popup,important,doc', BLOCKED],
  ['adblock', '||x.example^$important,script', 'unsupported'],
  ['adblock', '||x.*^', 'unreadable'],
  ...[
    '##.ad',
    '#@#.ad',
    '#?#.ad',
    '#@?#.ad',
    '#$#.ad',
    '#@$#.ad',
    '#%#a',
    '#@%#a',
    '#$?#a',
    '#@$?#a',
    '$$a',
    '$@$a',
  ].map((rule) => ['adblock', `x.example${rule}`, 'unsupported'] as const),
  ['dnsmasq', 'address=/x.example/0.0.0.0', BLOCKED],
  ['dnsmasq', 'address=/x.example/::', BLOCKED],
  ['dnsmasq', 'address=/x.example/', BLOCKED],
  ['dnsmasq', 'address=/x.example/#', BLOCKED],
  ['dnsmasq', 'address=/y.example/x.example/127.0.0.1', BLOCKED],
  ['dnsmasq', 'server=/x.example/', BLOCKED],
  ['dnsmasq', 'address = /x.example/', BLOCKED],
  ['dnsmasq', 'server\t= /x.example/#', ALLOWED],
  ['dnsmasq', 'ipset = /x.example/set', 'unsupported'],
  ['dnsmasq', 'local=/x.example/ # why', BLOCKED],
  ['dnsmasq', 'server=/x.example/#', ALLOWED],
  ['dnsmasq', 'address=/x.example/203.0.113.7', 'redirect'],
  ['dnsmasq', 'server=/x.example/9.9.9.9#53', 'redirect'],
  // @ghostery/adblocker 2.18.2 reads `to=` as the site that sends the request.
  ['adblock', '||x.example^$to=x.example', 'unsupported'],
  ['dnsmasq', 'ipset=/x.example/set', 'unsupported'],
  ['dnsmasq', 'address=/#/0.0.0.0', 'unreadable'],
  ['unbound', 'local-zone: "x.example" always_nxdomain', BLOCKED],
  ['unbound', '  local-zone: "x.example." always_null', BLOCKED],
  ['unbound', 'local-zone: x.example refuse', BLOCKED],
  ['unbound', 'local-data: "x.example A 0.0.0.0"', BLOCKED],
  ['unbound', "local-data: 'x.example. 3600 IN AAAA ::'", BLOCKED],
  ['unbound', 'local-data: "x.example 1h30m A 0.0.0.0"', BLOCKED],
  ['unbound', 'local-zone: "x.example" always_transparent', ALLOWED],
  ['unbound', 'local-zone: "x.example" transparent', ALLOWED],
  ['unbound', 'local-zone: "x.example" typetransparent', ALLOWED],
  ['unbound', 'local-zone: "x.example" inform', NO],
  ['unbound', 'local-data: "x.example A 203.0.113.7"', 'redirect'],
  ['unbound', 'local-zone: "x.example" redirect', NO],
  ['unbound', 'local-zone: "x.example" wipe', 'unsupported'],
  ['unbound', 'server:', NO],
  ['rpz', 'x.example CNAME .', BLOCKED],
  ['rpz', 'x.example. 300 IN CNAME *. ; why', BLOCKED],
  ['rpz', 'x.example IN CNAME rpz-drop.', BLOCKED],
  ['rpz', 'x.example A 0.0.0.0', BLOCKED],
  ['rpz', 'x.example 1w2d IN CNAME .', BLOCKED],
  ['rpz', 'x.example ( 6H IN CNAME . )', BLOCKED],
  ['rpz', '$INCLUDE more.zone', 'unsupported'],
  ['rpz', 'x.example CNAME rpz-passthru.', ALLOWED],
  ['rpz', 'x.example CNAME garden.example.', 'redirect'],
  ['rpz', 'x.example 1h A 203.0.113.7', 'redirect'],
  ['rpz', '24.0.100.51.198.rpz-ip CNAME .', 'unsupported'],
  ['rpz', 'x.example TXT "why"', 'unsupported'],
  // A record without an owner (RFC 1035, 5.1) is rejected. dns-zonefile 0.3.2 reads it as one of another name.
  ['rpz', '  A 0.0.0.0', 'unreadable'],
  ['rpz', '*.x.example CNAME .', NO],
  ['rpz', '$TTL 300', NO],
  ['rpz', '@ IN SOA localhost. root.localhost. (', NO],
  ['rpz', '2026112701 ; serial', NO],
  ['rpz', '@ NS localhost.', NO],
];

/** Lines about the same host or the one above it, in any order, and what they do with `x.example`. */
const TOGETHER: readonly (readonly [DialectName, lines: readonly string[], expected: string])[] = [
  ['adblock', ['||x.example^', '@@||x.example^'], ALLOWED],
  ['adblock', ['||x.example^$important', '@@||x.example^'], BLOCKED],
  ['adblock', ['||x.example^$all,important', '||x.example^', '@@||x.example^'], BLOCKED],
  ['adblock', ['||x.example^$important', '@@||x.example^$important'], ALLOWED],
  ['adblock', ['||x.example^', '@@||x.example^$important'], ALLOWED],
  ['adblock', ['||x.example^', '@@||x.example^$popup'], BLOCKED],
  ['adblock', ['||x.example^', '||x.example^$badfilter'], NO],
  ['adblock', ['||x.example^$all', '||x.example^$badfilter,all'], NO],
  ['adblock', ['||x.example^$important', '||x.example^$badfilter'], BLOCKED],
  ['adblock', ['||x.example^$important', '||x.example^$important,badfilter'], BLOCKED],
  ['adblock', ['@@||x.example^', '@@||x.example^$badfilter'], NO],
  ['unbound', ['local-zone: "x.example" transparent', 'local-data: "x.example A 0.0.0.0"'], BLOCKED],
  ['unbound', ['local-zone: "x.example" typetransparent', 'local-data: "x.example. AAAA ::"'], BLOCKED],
  ['unbound', ['local-zone: "x.example" inform', 'local-data: "x.example A 0.0.0.0"'], BLOCKED],
  ['unbound', ['local-zone: "x.example" inform', 'local-zone: "x.example" refuse'], BLOCKED],
  ['unbound', ['local-zone: "x.example" always_transparent', 'local-data: "x.example A 0.0.0.0"'], ALLOWED],
];

const OTHER: Readonly<Record<DialectName, string>> = {
  adblock: '||other.example^',
  dnsmasq: 'local=/other.example/',
  unbound: 'local-zone: "other.example" refuse',
  rpz: 'other.example CNAME .',
};
const documentOf = (dialect: DialectName, line: string): string => `${line}\n${`${OTHER[dialect]}\n`.repeat(20)}`;

describe('A line of a dialect', () => {
  it.each(LINES)('%s: %s is %s', async (dialect, line, expected) => {
    const { content, check } = await listOf(documentOf(dialect, line), dialect);
    const [rejected] = content.rejected;
    const result = check('x.example');
    expect(rejected?.reason ?? (typeof result === 'string' ? result : result.status)).toBe(expected);
    expect(brief(check('other.example'))).toBe('BLOCKED other.example');
  });

  it.each(TOGETHER)('%s: %j together are %s', async (dialect, lines, expected) => {
    for (const ordered of [lines, lines.toReversed()]) {
      const { content, check } = await listOf(documentOf(dialect, ordered.join('\n')), dialect);
      expect(check('x.example')).toMatchObject({ status: expected });
      expect(check('a.x.example')).toMatchObject({ status: expected });
      expect(content.table.size).toBe(expected === NO ? 1 : 2);
    }
  });

  it('with $important precedes exceptions below its host, and other lines do not', async () => {
    const exceptions = '@@||a.x.example^\n@@||b.x.example^$important\n@@||y.example^';
    const { check } = await listOf(`${exceptions}\n||x.example^$important`, 'adblock');
    expect(['x.example', 'a.x.example', 'b.x.example', 'y.example'].map((host) => brief(check(host)))).toEqual([
      'BLOCKED x.example',
      'BLOCKED x.example parent-domain',
      'ALLOWED b.x.example',
      'ALLOWED y.example',
    ]);
    const zones = ['local-zone: "a.x.example" transparent', 'local-data: "x.example A 0.0.0.0"'].join('\n');
    const unbound = await listOf(zones, 'unbound');
    expect(brief(unbound.check('a.x.example'))).toBe('ALLOWED a.x.example');
  });

  it('with very many options is read in proportionate time', async () => {
    const options = ['important,', 'badfilter,', 'doc,'].map((one) => `||x.example^$${one.repeat(6_000)}x`);
    const before = cpuMs();
    await listOf(documentOf('adblock', options.join('\n')), 'adblock');
    expect(cpuMs() - before).toBeLessThan(500);
  });

  it('never allows in a list of the verdict ALLOWED what it exempts, and never blocks it', async () => {
    const { content, check } = await listOf(documentOf('adblock', '@@||x.example^'), 'adblock', { verdict: 'ALLOWED' });
    expect(brief(check('x.example'))).toBe('not-found');
    expect(brief(check('other.example'))).toBe('ALLOWED other.example');
    expect(content.rejected).toMatchObject([{ reason: 'unsupported', count: 1 }]);
  });

  it('exempts a host below a blocked one', async () => {
    const { check } = await listOf('||x.example^\n@@||good.x.example^\n', 'adblock');
    expect(brief(check('a.x.example'))).toBe('BLOCKED x.example parent-domain');
    expect(brief(check('good.x.example'))).toBe('ALLOWED good.x.example');
  });

  it.each([
    '$ORIGIN rpz.corp.example.',
    '$TTL 60\nRPZ.corp.example. 3600 IN SOA localhost. root.localhost. 1 2 3 4 5',
    'rpz.corp.example. SOA localhost. root.localhost. (\n1 ; serial\n2 3 4 5 )\nrpz.corp.example. NS localhost.',
  ])('of a response policy zone may have an absolute name: %j', async (head) => {
    const lines = [
      'x.example.rpz.corp.example. 60 IN CNAME .',
      '*.y.example.rpz.CORP.example. CNAME .',
      'good.x.example.rpz.corp.example. CNAME rpz-passthru.',
      'z.example. CNAME .',
      '24.0.100.51.198.rpz-ip.rpz.corp.example. CNAME .',
    ];
    const { content, check } = await listOf(`${head}\n${lines.join('\n')}`, 'rpz');
    expect(['x.example', 'a.y.example', 'y.example', 'z.example'].map((host) => brief(check(host)))).toEqual([
      'BLOCKED x.example',
      expect.stringMatching(/^BLOCKED/),
      'not-found',
      'BLOCKED z.example.',
    ]);
    expect(brief(check('good.x.example'))).toBe('ALLOWED good.x.example');
    expect(content.rejected).toMatchObject([{ reason: 'unsupported', count: 1 }]);
  });

  it('for exactly one host, or with a pattern, exempts these hosts and no others', async () => {
    const lines = [
      '||x.example^',
      '@@|x.example^|',
      '@@||a*.x.example^',
      '@@|*z.x.example^',
      '|y.example^',
      '||w.example^$important',
      '@@||a*.w.example^',
      '@@||b*.w.example^$important',
      '|www.host.example^',
    ];
    for (const ordered of [lines, lines.toReversed()]) {
      const { content, check } = await listOf(ordered.join('\n'), 'adblock');
      const hosts = ['x', 'b.x', 'ad.x', 'q.a-1.x', 'ba.x', 'qz.x', 'y', 'q.y', 'a.w', 'b.w', 'www.host', 'host'];
      expect(hosts.map((host) => [host, brief(check(`${host}.example`))])).toEqual([
        ['x', 'ALLOWED x.example'],
        ['b.x', 'BLOCKED x.example parent-domain'],
        ['ad.x', 'ALLOWED a*.x.example'],
        ['q.a-1.x', 'ALLOWED a*.x.example'],
        ['ba.x', 'BLOCKED x.example parent-domain'],
        ['qz.x', 'ALLOWED *z.x.example'],
        ['y', 'BLOCKED y.example'],
        ['q.y', 'not-found'],
        ['a.w', 'BLOCKED w.example parent-domain'],
        ['b.w', 'ALLOWED b*.w.example'],
        ['www.host', 'BLOCKED www.host.example'],
        ['host', 'not-found'],
      ]);
      expect(content.rejected).toEqual([]);
    }
    const cancelled = await listOf('||o.example^\n|x.example^\n|x.example^$badfilter', 'adblock');
    expect(brief(cancelled.check('x.example'))).toBe('not-found');
  });

  it('for exactly a guarded host is overruled and counted', async () => {
    const guard = new Guards([await guardOf('x.example')]);
    const { content } = await listOf('|x.example^\n||o.example^', 'adblock');
    const suffixes = new HostingSuffixes(shippedSuffixes());
    expect(await guard.overruledEntriesOf(content.table, suffixes)).toEqual({
      count: 1,
      examples: [{ entry: 'x.example', guard: 'popular' }],
    });
    const check = await checkerOf([], [{ format: 'adblock', text: '|x.example^' }], [await guardOf('x.example')]);
    expect(check('x.example').status).toBe('UNKNOWN');
  });

  it('with very many patterns is refused beyond a thousand', async () => {
    const lines = Array.from({ length: 1_002 }, (_, n) => `@@||a*.x-${n}.example^`);
    const { content } = await listOf(`||x.example^\n${lines.join('\n')}`, 'adblock');
    expect(content.rejected).toMatchObject([{ reason: 'unsupported', count: 2 }]);
    const before = cpuMs();
    for (let n = 0; n < 100; n += 1) await listOf(`||x.example^\n@@||a*a*b.x.example^`, 'adblock');
    expect(cpuMs() - before).toBeLessThan(2_000);
  });

  it.each([
    'x.example. 1w IN SOA ns.y.example. root.y.example. (\n  2026112701 ; serial\n  6h 15m\n  1w\n  1d )',
    '@ IN SOA (\n ns.y.example.\n root.y.example.\n 1 6h 15m 1w 1d\n)',
    '@ 6H SOA ns.y.example. (\nroot.y.example. 1 21600 900 1w 1d)\n@ NS ns.y.example.',
  ])('of a response policy zone may continue in the next lines: %j', async (head) => {
    const records = 'a.example CNAME .\nb.example 6h CNAME .\nc.example TXT "a (b"\nd.example 1w IN CNAME (\n . )';
    const { content, check } = await listOf(`${head}\n${records}`, 'rpz');
    expect(content.table.size).toBe(3);
    expect(['a.example', 'b.example', 'd.example', 'ns.y.example'].map((host) => brief(check(host)))).toEqual([
      'BLOCKED a.example',
      'BLOCKED b.example',
      'BLOCKED d.example',
      'not-found',
    ]);
    expect(content.rejected).toMatchObject([{ reason: 'unsupported', count: 1 }]);
  });

  it('of a response policy zone covers the hosts below a wildcard', async () => {
    const { check } = await listOf('*.x.example CNAME .\n', 'rpz');
    expect(brief(check('a.x.example'))).toMatch(/^BLOCKED/);
    expect(brief(check('x.example'))).toBe('not-found');
  });
});

describe('A list in JSON', () => {
  it('of objects is refused, and the refusal shows them', async () => {
    const text = JSON.stringify([{ domain: 'a.example' }, { domain: 'b.example' }]);
    await expect(listOf(text, 'json')).rejects.toThrow(
      'no usable entries: 2 unreadable ("{\\"domain\\":\\"a.example\\"}"',
    );
  });

  it.each([
    ['json', '[', 31],
    ['metamask', '{"blocklist":[],"x":', 31],
    ['polkadot', '{"deny":[],"x":{"y":', 30],
  ] as const)(
    'in the format %s has at most 32 levels, and is refused before it ends',
    async (format, start, levels) => {
      const text = `${start}${'['.repeat(levels)}`;
      await expect(listOf(text, format)).rejects.toThrow('unexpected end');
      await expect(listOf(`${text}[`, format)).rejects.toThrow('The list has more than 32 levels');
    },
  );

  it.each([
    ['json', '["x.example",', '"'],
    ['json', '["x.example",', '[0,'],
    ['metamask', '{"blocklist":["x.example"],"', ''],
    ['polkadot', '{"deny":["x.example"],"x":', '[['],
  ] as const)(
    'in the format %s that begins with %s%s has no entry of more than 1 MiB',
    async (format, start, entry) => {
      const text = (bytes: number): string => `${start}${entry}${'0,'.repeat(bytes / 2)}`;
      await expect(listOf(text(1_000_000), format)).rejects.toThrow('unexpected end');
      await expect(listOf(text(1_100_000), format)).rejects.toThrow('has an entry of more than 1048576 bytes');
    },
  );

  it('may have very many fields that are not read, in one object or in several', async () => {
    const fields = Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`field-${n}`, n]));
    const text = { blocklist: ['x.example'], unknown: fields, ...fields };
    const { check } = await listOf(JSON.stringify(text), 'metamask');
    expect(brief(check('x.example'))).toBe('BLOCKED x.example');
  });

  it('of MetaMask blocks the pages of its API, and names the arrays that are not read', async () => {
    const text = {
      blocklist: ['x.example'],
      blocklistPaths: ['y.example/a'],
      c2DomainBlocklist: ['0a', '0b'],
      tolerance: 1,
    };
    const { content, check } = await listOf(JSON.stringify(text), 'metamask');
    expect(brief(check('https://y.example/a/b'))).toBe('BLOCKED y.example/a parent-domain');
    expect(brief(check('https://y.example'))).toBe('not-found');
    expect(content.rejected.map(describeRejected)).toEqual([
      '1 unsupported ("\\"c2DomainBlocklist\\" with 2 entries")',
    ]);
  });
});

describe('A document of a dialect in another format', () => {
  it.each([
    ['adblock', 'rules of an ad blocker (format adblock)'],
    ['dnsmasq', 'settings of dnsmasq (format dnsmasq)'],
    ['unbound', 'settings of Unbound (format unbound)'],
    ['rpz', 'records of a response policy zone (format rpz)'],
  ] as const)('is refused, and the refusal names %s', async (dialect, what) => {
    for (const format of ['plain', 'hosts'] as const) {
      await expect(listOf(`${OTHER[dialect]}\n`.repeat(5), format)).rejects.toThrow(what);
      const good = format === 'hosts' ? '0.0.0.0 good.example\n' : 'good.example\n';
      await expect(listOf(good + `${OTHER[dialect]}\n`.repeat(5), format)).rejects.toThrow(what);
    }
    const { content } = await listOf('good.example\n'.repeat(20) + OTHER[dialect], 'plain');
    expect(content.rejected.map(describeRejected)).toEqual([
      `1 unreadable, which look like ${what} (${JSON.stringify(OTHER[dialect])})`,
    ]);
  });

  it.each([
    ['with the host first', 'x-N.example,Acme,yes'],
    ['with a link first', 'https://x-N.example/login,Acme,yes'],
    ['split by semicolons', 'https://x-N.example/login;Acme;yes'],
    ['split by bars', 'https://x-N.example/login|Acme'],
    ['split by tabs', 'https://x-N.example/login\tAcme\tyes'],
  ])('is refused if it is a table %s', async (_, row) => {
    const rows = Array.from({ length: 20 }, (__, n) => row.replace('N', String(n))).join('\n');
    await expect(listOf(rows, 'plain')).rejects.toThrow(/table|cannot be read|no usable/);
    await expect(listOf(`url,brand,verified\n${rows}`, 'plain')).rejects.toThrow(/table|cannot be read|no usable/);
  });

  it('is accepted if only some of its links have a comma', async () => {
    const { check } = await listOf('a.example\nb.example\nc.example\nhttps://x.example/a,1,2\n', 'plain');
    expect(brief(check('https://x.example/a,1,2'))).toBe('BLOCKED https://x.example/a,1,2');
  });
});

describe('A rule about an element of a page', () => {
  const RULES = ['##', '#@#', '#?#', '#@?#', '#$#', '#@$#', '#%#', '#@%#', '#$?#', '#@$?#', '$$', '$@$'];
  it.each(RULES)('never blocks the host or the page: %s', async (mark) => {
    for (const at of ['l.example', 'l.example/path', 'l.example?a=1', 'l.example/a?b=1']) {
      for (const format of ['plain', 'hosts', 'json'] as const) {
        const address = format === 'hosts' ? '0.0.0.0 ' : '';
        const good = Array.from({ length: 20 }, (_, n) => `${address}g-${n}.example`);
        const entries = [...good, `${at}${mark}.ad`];
        const { content, check } = await listOf(
          format === 'json' ? JSON.stringify(entries) : entries.join('\n'),
          format,
        );
        expect([at, brief(check('l.example')), brief(check(`https://${at}`))]).toEqual([at, 'not-found', 'not-found']);
        expect(content.rejected).toMatchObject([{ count: 1 }]);
      }
    }
  });
});

describe('A line of a hosts file', () => {
  it('may have the address 0, and a bare host is refused by name', async () => {
    const { content, check } = await listOf(
      `0 b.example c.example\n${'0.0.0.0 o.example\n'.repeat(20)}a.example`,
      'hosts',
    );
    expect(['b.example', 'c.example', 'a.example'].map((host) => brief(check(host)))).toEqual([
      'BLOCKED b.example',
      'BLOCKED c.example',
      'not-found',
    ]);
    expect(content.rejected.map(describeRejected)).toEqual([
      '1 unreadable, which look like bare hosts (format plain) ("a.example")',
    ]);
  });
});

describe('A range of addresses', () => {
  const RANGES: readonly (readonly [entry: string, inside: readonly string[], outside: readonly string[]])[] = [
    ['198.51.100.0/24', ['198.51.100.0', '198.51.100.9', '198.51.100.255'], ['198.51.101.0', '198.51.99.255']],
    ['198.51.100.64/26', ['198.51.100.64', '198.51.100.127'], ['198.51.100.63', '198.51.100.128']],
    ['198.51.100.70/26', ['198.51.100.64', '198.51.100.127'], ['198.51.100.63']],
    ['192.0.2.0/255.255.255.0', ['192.0.2.1'], ['192.0.3.1']],
    ['192.0.2.7/32', ['192.0.2.7'], ['192.0.2.8']],
    ['203.0.0.0/8', ['203.1.2.3'], ['204.0.0.1']],
    ['2001:db8:99::/48', ['[2001:db8:99::1]', '[2001:db8:99:ffff::1]'], ['[2001:db8:9a::1]']],
    ['[2001:db8:99::]/47', ['[2001:db8:98::1]'], ['[2001:db8:9a::1]']],
  ];
  const rows = RANGES.flatMap((row) =>
    (['plain', 'json', 'adblock'] as const).map((format) => [...row, format] as const),
  );
  it.each(rows)('%s covers %j and not %j in the format %4$s', async (entry, inside, outside, format) => {
    const text = format === 'json' ? JSON.stringify(['o.example', entry]) : `o.example\n${entry} # why\n`;
    const { content, check } = await listOf(text, format);
    expect([content.table.size, content.rejected]).toEqual([2, []]);
    for (const address of inside) {
      expect(brief(check(`http://${address}/`))).toBe(`BLOCKED ${entry} parent-domain`);
      expect(brief(check(`http://${address}/a?b`))).toBe(`BLOCKED ${entry} parent-domain`);
    }
    for (const address of outside) expect(brief(check(`http://${address}/`))).toBe('not-found');
  });

  it.each([
    ['0.0.0.0/0', 'private'],
    ['10.0.0.0/8', 'private'],
    ['198.0.0.0/7', 'unsupported'],
    ['2000::/3', 'unsupported'],
    ['198.51.100.0/33', 'unreadable'],
    ['198.51.100.0/255.0.255.0', 'unreadable'],
    ['198.51.100.0/0.0.0.255', 'unreadable'],
    ['2001:db8:99::/129', 'unreadable'],
    ['198.51.100.0-198.51.100.255', 'unreadable'],
    ['198.51.100.*', 'unreadable'],
  ])('%s is rejected as %s', async (entry, reason) => {
    const { content } = await listOf(JSON.stringify(['o.example', entry]), 'json');
    expect(content.rejected).toMatchObject([{ reason, count: 1 }]);
  });

  it('is narrower than another one, and an address decides before its ranges', async () => {
    const allow = '["198.51.100.0/28", "198.51.100.77"]';
    const { check } = await listOf(`{"allow": ${allow}, "deny": ["198.51.100.0/24"]}`, 'polkadot');
    expect(brief(check('198.51.100.9'))).toBe('ALLOWED 198.51.100.0/28 parent-domain');
    expect(brief(check('198.51.100.77'))).toBe('ALLOWED 198.51.100.77');
    expect(brief(check('198.51.100.78'))).toBe('BLOCKED 198.51.100.0/24 parent-domain');
  });

  it('stays a page if it is written as a link', async () => {
    const { check } = await listOf('http://198.51.100.0/24\no.example\n', 'plain');
    expect(brief(check('http://198.51.100.9/'))).toBe('not-found');
    expect(brief(check('http://198.51.100.0/24'))).toMatch(/^BLOCKED/);
  });

  it('does not block an address of a guard, and is no entry of a guard', async () => {
    const guard = await guardOf('198.51.100.9\n198.51.100.0/24\n');
    expect(guard.table!.size).toBe(1);
    const check = await checkerOf([], [{ text: '198.51.100.0/24' }], [guard]);
    expect(check('198.51.100.9').sources[1]).toMatchObject({ status: 'UNKNOWN', guardedBy: 'popular' });
    expect(check('198.51.100.8').status).toBe('BLOCKED');
  });
});
