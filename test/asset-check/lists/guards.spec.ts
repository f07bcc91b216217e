import { createRequire } from 'node:module';
import { describe, expect, it } from '@jest/globals';
import { Guards } from '../../../src/asset-check/lists/guards.js';
import { HostingSuffixes } from '../../../src/asset-check/lists/hosting-suffixes.js';
import type { AssetCheckResponse } from '../../../src/asset-check/asset-check.dto.js';
import { readSiteRows } from '../../../src/cli/demo/shipped-rows.js';
import { sized } from '../../support/full-size.js';
import { Random } from '../../support/random.js';
import { checkerOf, guardOf, type TestList } from '../checker-of.js';
import { listOf } from '../../support/list-of.js';

const listResult = ({ sources }: AssetCheckResponse): string => {
  const { status, match = '', reason = '', guardedBy = '' } = sources[1]!;
  return [status, match, reason, guardedBy].filter((part) => part !== '').join(' ');
};

/** Checks contents against one list and one guard. */
const checked = async (list: TestList, guard: string): Promise<(content: string) => AssetCheckResponse> =>
  checkerOf([], [list], [await guardOf(guard)]);

const guarded = (match: string): string => `UNKNOWN ${match} not-found popular`;

describe('A guard', () => {
  it.each([
    // guard, list, content, result
    ['x.example', 'x.example', 'x.example', guarded('x.example')],
    ['x.example', 'x.example', 'https://X.example.:8443/a?b', guarded('x.example')],
    ['x.example', 'x.example', 'someone@x.example', guarded('x.example')],
    ['x.example', 'x.example', 'shop.x.example', guarded('x.example')],
    ['x.example', 'www.x.example', 'www.x.example', guarded('www.x.example')],
    ['www.x.example', 'x.example', 'x.example', guarded('x.example')],
    ['https://www.x.example', 'x.example', 'x.example', guarded('x.example')],
    ['x.example.', 'HTTPS://X.Example/', 'x.example', guarded('HTTPS://X.Example/')],
    ['münchen.example', 'xn--mnchen-3ya.example', 'https://münchen.example/', guarded('xn--mnchen-3ya.example')],
    ['192.0.2.7', '192.0.2.7', 'http://192.0.2.7/a', guarded('192.0.2.7')],
    ['www.gov.uk', 'www.gov.uk', 'https://www.gov.uk/a', guarded('www.gov.uk')],
    ['docs.x.example', 'x.example', 'docs.x.example', guarded('x.example')],
    ['docs.x.example', 'x.example', 'a.docs.x.example', guarded('x.example')],
    ['docs.x.example', '*.x.example', 'docs.x.example', guarded('*.x.example')],
    ['youtube.com', 'youtube.com', 'youtube.com', guarded('youtube.com')],
    ['x.com', 'x.com', 'x.com', guarded('x.com')],
    ['web.app', 'web.app', 'https://web.app/', guarded('web.app')],
    ['x.example', 'x.example', 'https://www.google.com/url?q=https://x.example/a', guarded('x.example')],
    ['name.t.me', 'name.t.me', 'name.t.me', guarded('name.t.me')],
    // The parameters of the entry do not name its page, so it would block the page with any parameters.
    ['x.example', 'https://x.example/go?to=1', 'https://x.example/go?to=2', guarded('https://x.example/go?to=1')],
    ['x.example', 'a.x.example/go?to=1', 'https://a.x.example/go', guarded('a.x.example/go?to=1')],
    ...['https://x.example/go.', 'see https://x.example/go, please', 'https://x.example/go/showthread.php?t=5'].map(
      (content) => ['x.example', 'https://x.example/go?to=1', content, guarded('https://x.example/go?to=1')] as const,
    ),
    ['x.example', 'https://x.example/go/#/a/b', 'https://x.example/go/', guarded('https://x.example/go/#/a/b')],
    ['x.example', `x.example/go?to=1&long=${'a'.repeat(300)}`, 'https://x.example/go?to=2', guarded('x.example/go')],
  ])('with %s overrules the BLOCKED entry %s for %s', async (guard, text, content, expected) => {
    const check = await checked({ text }, guard);
    expect(listResult(check(content))).toBe(expected);
    expect(check(content)).toMatchObject({ status: 'UNKNOWN', source: 'own', reason: 'not-found' });
  });

  it.each([
    ['x.example', 'x.example/evil', 'https://x.example/evil/a', 'BLOCKED x.example/evil parent-domain'],
    ['x.example', 'evil.x.example', 'evil.x.example', 'BLOCKED evil.x.example'],
    ['x.example', 'evil.x.example', 'a.evil.x.example', 'BLOCKED evil.x.example parent-domain'],
    ['x.example', '*.x.example', 'a.x.example', 'BLOCKED *.x.example parent-domain'],
    ['web.app', 'evil.web.app', 'https://evil.web.app/a', 'BLOCKED evil.web.app'],
    ['web.app', 'web.app', 'evil.web.app', 'UNKNOWN web.app hosting-domain'],
    ['t.me', 't.me/evil', 'https://t.me/evil', 'BLOCKED t.me/evil'],
    ['x.com', 'x.com/evil', 'https://twitter.com/evil', 'BLOCKED x.com/evil'],
    ['youtube.com', 'youtube.com/watch?v=aaaaaaaaaaa', 'https://youtu.be/aaaaaaaaaaa', /^BLOCKED youtube/],
    ['x.example', 'x.example/t.php?to=1\nx.example/t.php', 'https://x.example/t.php?to=2', /^BLOCKED x/],
    ['x.example', 'x.example/go?utm_source=1', 'https://x.example/go', /^BLOCKED x/],
    ['x.example', 'x.example/showthread.php?t=1', 'https://x.example/showthread.php?t=1', /^BLOCKED x/],
    ['x.example', 'a.x.example/go?to=1\na.x.example', 'https://a.x.example/go', /^BLOCKED a/],
    ['web.app', 'evil.web.app/go?to=1', 'https://evil.web.app/go', /^BLOCKED evil/],
    ['y.example', 'x.example/go?to=1', 'https://x.example/go?to=2', /^BLOCKED x/],
    ['docs.x.example', 'x.example', 'x.example', 'BLOCKED x.example'],
    ['docs.x.example', 'x.example', 'drive.x.example', 'BLOCKED x.example parent-domain'],
    ['docs.x.example', 'x.example', 'notdocs.x.example', 'BLOCKED x.example parent-domain'],
    ['x.example', 'yx.example', 'yx.example', 'BLOCKED yx.example'],
    ['co.uk\nx.example', 'a.co.uk', 'a.co.uk', 'BLOCKED a.co.uk'],
    ['*.x.example\ny.example', 'x.example', 'x.example', 'BLOCKED x.example'],
    ['x.example/page\ny.example', 'x.example', 'x.example', 'BLOCKED x.example'],
  ])('with %j keeps the entry %s for %s', async (guard, text, content, expected) => {
    const check = await checked({ text }, guard);
    expect(listResult(check(content))).toMatch(expected);
  });

  it('never overrules an own status, an ALLOWED entry or the entry of another source for a page', async () => {
    const guard = await guardOf('x.example');
    const own = await checkerOf(['BLOCKED URL x.example'], [{ text: 'x.example' }], [guard]);
    expect(own('x.example')).toMatchObject({ status: 'BLOCKED', source: 'own' });
    const allowed = await checkerOf([], [{ text: 'x.example', verdict: 'ALLOWED' }], [guard]);
    expect(allowed('x.example')).toMatchObject({ status: 'ALLOWED', source: 'l0' });
    const page = await checkerOf([], [{ text: 'x.example' }, { text: 'x.example/evil' }], [guard]);
    expect(page('https://x.example/evil')).toMatchObject({ status: 'BLOCKED', source: 'l1' });
  });

  it('does not make a content ALLOWED because of an ALLOWED entry above the overruled one', async () => {
    const polkadot = JSON.stringify({ allow: ['x.example'], deny: ['docs.x.example'] });
    const check = await checked({ format: 'polkadot', text: polkadot }, 'docs.x.example');
    expect(check('docs.x.example').status).toBe('UNKNOWN');
  });

  it('overrules imitations in the format metamask, but not the imitations below a guarded host', async () => {
    const text = JSON.stringify({
      tolerance: 2,
      blacklist: ['popular.example'],
      whitelist: [],
      fuzzylist: ['metamask.io'],
    });
    const check = await checked({ format: 'metamask', text }, 'metamusk.com\npopular.example');
    expect(listResult(check('metamusk.com'))).toBe(guarded('metamask.io'));
    expect(listResult(check('metamesk.com'))).toBe('BLOCKED metamask.io');
    expect(listResult(check('a.popular.example'))).toBe(guarded('popular.example'));
  });

  it('names the list and the guard in one sentence', async () => {
    const check = await checked({ text: 'x.example' }, 'x.example');
    expect(check('a.x.example').message).toBe(
      'The source l0 has "x.example" on its blocklist, but the guard popular does not let a list block that host, so nothing is known about "a.x.example" itself.',
    );
  });

  it('is read with ranks, and its other entries are rejected', async () => {
    const { table } = await guardOf('1,google.com\r\n2,"www.x.com"\r\n3,com\r\n4,a.example,9\r\n', 'csv');
    expect(table!.size).toBe(3);
    const { find } = {
      find: (host: string) => new Guards([{ settings: { id: 'g' }, table, version: 1 }]).guardOf(host)?.guard,
    };
    expect(['google.com', 'www.google.com', 'x.com', 'a.example', 'com', 'mail.google.com'].map(find)).toEqual([
      'g',
      'g',
      'g',
      'g',
      undefined,
      undefined,
    ]);
  });
});

describe('The guard of a host', () => {
  it.each([
    ['docs.x.example', { guard: 'popular', isAbove: false }],
    ['www.docs.x.example', { guard: 'popular', isAbove: false }],
    ['x.example', { guard: 'popular', isAbove: true }],
    ['other.x.example', undefined],
    // These suffixes do not block the hosts below them.
    ['co.uk', undefined],
    ['github.io', undefined],
    ['192.0.2.7', { guard: 'popular', isAbove: false }],
    ['0.2.7', undefined],
  ])('finds for %s: %j', async (host, expected) => {
    const guard = await guardOf('docs.x.example\na.b.example.co.uk\nfoo.github.io\n192.0.2.7');
    expect(new Guards([guard]).guardOf(host)).toEqual(expected);
  });
});

describe('The entries that guards overrule', () => {
  const suffixes = new HostingSuffixes();
  const overruled = async (guard: string, text: string) => {
    const { content } = await listOf(text, 'plain');
    return new Guards([await guardOf(guard)]).overruledEntriesOf(content.table, suffixes);
  };

  it('are counted once each, and the first hundred are shown in the order of the guard', async () => {
    const guard = 'b.example\na.example\ndocs.c.example\nmail.c.example\nd.example\nweb.app\nfoo.web.app\n';
    const list =
      'a.example\nWWW.b.example\nc.example\nevil.d.example\nd.example/page\n*.d.example\nweb.app\nz.example\n';
    expect(await overruled(guard, list)).toEqual({
      count: 4,
      // `*.d.example` still decides about what is below the guarded host.
      examples: ['WWW.b.example', 'a.example', 'c.example', 'web.app'].map((entry) => ({
        entry,
        guard: 'popular',
      })),
    });
    expect(
      await overruled(
        'x.example\nweb.app\n',
        'x.example/go?to=1\na.x.example/go?to=2\nx.example/go\nx.example/go?utm_source=1\na.web.app/go?to=1\ny.example/go?to=1',
      ),
    ).toEqual({ count: 1, examples: [{ entry: 'a.x.example/go?to=2', guard: 'popular' }] });
    const many = Array.from({ length: 150 }, (_, n) => `host-${n}.example`).join('\n');
    const { count, examples } = (await overruled(many, many))!;
    expect([count, examples.length, examples[99]!.entry]).toEqual([150, 100, 'host-99.example']);
  });
});

describe('A guard of 10,000 names with real lists', () => {
  const require = createRequire(import.meta.url);
  interface Config {
    readonly blacklist: readonly string[];
  }
  const config = require('eth-phishing-detect/src/config.json') as Config;
  const PLATFORMS = ['youtube.com', 'web.app', 'x.com', 'google.com', 'github.io', 'vercel.app', 'pages.dev', 't.me'];

  const CONTENTS = sized(4_000, 20_000);

  const HOST = /^[a-z0-9-]+(?:\.[a-z0-9-]+)+$/;

  /** Whether the guard has the host, or a domain above it that is not above `entry`. */
  const isGuarded = (host: string, entry: string, guard: ReadonlySet<string>): boolean => {
    for (let each = host; each.includes('.'); each = each.slice(each.indexOf('.') + 1)) {
      if (guard.has(each) || (each.startsWith('www.') && guard.has(each.slice(4)))) return true;
      if (each === entry) return false;
    }
    return false;
  };

  it('blocks no guarded host as a whole, and loses no verdict about a page, profile or subdomain', async () => {
    const random = new Random(7);
    const sites = [...new Set(readSiteRows().map(({ site }) => site))];
    const listed = [...config.blacklist, ...sites].filter((host) => HOST.test(host));
    const guard = new Set(PLATFORMS);
    while (guard.size < 3_000) guard.add(random.pick(listed).replace(/^www\./, ''));
    for (let n = 0; guard.size < 10_000; n += 1) guard.add(`popular-${n}.example`);
    const ranked = [...guard].map((host, rank) => `${rank + 1},${host}`).join('\r\n');
    const profiles = ['youtube.com/watch?v=aaaaaaaaaaa', 'x.com/evil', 't.me/evil', 'evil.web.app', 'google.com/evil'];
    const lists = [
      { format: 'metamask', text: JSON.stringify(config) },
      { format: 'plain', text: sites.join('\n') },
      { format: 'plain', text: [...PLATFORMS, ...profiles].join('\n') },
    ] as const;
    const without = await checkerOf([], lists);
    const check = await checkerOf([], lists, [await guardOf(ranked, 'csv')]);
    const guardedHosts = [...guard].flatMap((host) => [host, `www.${host}`]);
    expect(guardedHosts.filter((host) => check(host).status === 'BLOCKED')).toEqual([]);
    expect(guardedHosts.filter((host) => without(host).status === 'BLOCKED').length).toBeGreaterThan(3_000);
    const contents = Array.from({ length: CONTENTS }, () => {
      const host = random.pick(random.chance(0.3) ? [...PLATFORMS, ...profiles] : listed);
      return `${random.pick(['', '', 'https://', 'a.', 'www.', 'a.b.'])}${host}`;
    });
    const different = contents.filter((content) => {
      const host = content.replace(/^https:\/\//, '').replace(/[/?].*/, '');
      const after = check(content).sources;
      return without(content).sources.some(({ status, match = '', reason, source }, index) => {
        const isPage = match.includes('/');
        const entry = reason === 'parent-domain' ? match.toLowerCase() : host;
        const isOverruled = status === 'BLOCKED' && !isPage && isGuarded(host, entry, guard);
        const expected = isOverruled ? { guardedBy: 'popular', status: 'UNKNOWN' } : { guardedBy: undefined, status };
        const { guardedBy, status: found, match: shown = '' } = after[index]!;
        return source !== 'own' && !(guardedBy === expected.guardedBy && found === expected.status && shown === match);
      });
    });
    expect(different).toEqual([]);
  });
});
