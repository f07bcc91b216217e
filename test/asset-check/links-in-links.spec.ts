import { describe, expect, it } from '@jest/globals';
import { HostingSuffixes, shippedSuffixes } from '../../src/asset-check/lists/hosting-suffixes.js';
import { readEntry } from '../../src/asset-check/lists/list-entry.js';
import { assetKey, scopeOf } from '../../src/assets/asset-key.js';
import { CARRIERS } from '../../src/assets/carriers/carrier-table.js';
import { parseContent } from '../../src/assets/parse-content.js';
import { sized } from '../support/full-size.js';
import { Random } from '../support/random.js';
import { checkerOf } from './checker-of.js';

const LINKS = sized(4_000, 1_000_000);
const TARGET = 'evil.example';
const ACCOUNT = '0x52908400098527886E0F7030069857D2E4169EE7';
const suffixes = new HostingSuffixes(shippedSuffixes());

const ROWS = CARRIERS.trim()
  .split('\n')
  .flatMap((line) => {
    const words = line.split(' // ', 1)[0]!.trim().split(' ');
    const forms = words.filter((word) => word.includes('{'));
    return words
      .filter((word) => !word.includes('{'))
      .flatMap((host) => forms.map((form) => ({ host: host.replace('*', 'any'), form })));
  });

const base64 = (text: string): string => Buffer.from(text).toString('base64url');
const percent = (text: string, times: number): string =>
  times === 0 ? text : percent(encodeURIComponent(text), times - 1);
/** Writes the target in an encoding of the table. */
const WRITE: Readonly<Record<string, (link: string, times: number) => string>> = {
  link: percent,
  segment: (link, times) => `${percent(link, times)}/1/0100018a-${times}/AbC=380`,
  base64,
  a1base64: (link) => `a1${base64(link)}`,
  token: (link) => `${base64(JSON.stringify({ p: 1, e: link }))}.signature`,
  domain: () => TARGET,
  dashes: (link) => encodeURIComponent(link).replaceAll('%', '-').replaceAll('-2F', '_'),
  underscores: (link) => `__${link}__;!!x`,
  ru: (link) => `RU=${encodeURIComponent(link)}/RK=1`,
  ethereum: () => ACCOUNT,
  account: () => ACCOUNT,
  json: (link) => encodeURIComponent(JSON.stringify({ url: link })),
};

const linkOfRow = (random: Random): string => {
  const { host, form } = random.pick(ROWS);
  const link = `https://${TARGET}/${random.pick(['', 'claim', 'a/b'])}`;
  const rest = form
    .replace(/\*/g, () => `x${random.int(99)}`)
    .replace(/\{(\w+)\}/, (_, encoding: string) => WRITE[encoding]!(link, random.int(3)));
  return host.endsWith(':') ? `${host}//${rest}` : `https://${host}/${rest}`;
};

const HOSTS = Array.from({ length: 200 }, (_, n) => `gateway-${n}.vendor${n % 9}.example`);
const PATHS = ['', 'v4', 'redirect', 'url/check', 'a/b/c', 'wc', 'viewer'];
const NAMES = ['u', 'url', 'a', 'o', 'q', 'target', 'redirect_to', 'Link', 'utm_source', 'uri', 'x'];
const HELD = [
  `https://${TARGET}/claim`,
  `HTTP://${TARGET}`,
  `//${TARGET}/x`,
  'wc:7f6e504bfad60b485450578e05678ed3e8e8c4751d3c6160be17160d63ec90f9@2',
];

const linkWithoutRow = (random: Random): string => {
  const base = `https://${random.pick(HOSTS)}/${random.pick(PATHS)}`;
  const held = random.pick(HELD);
  const times = random.int(3);
  if (random.chance(0.6) || held.startsWith('//'))
    return `${base}?n=${random.int(1e6)}&${random.pick(NAMES)}=${percent(held, times)}`;
  return random.chance(0.5) ? `${base}/${random.int(1e6)}/${percent(held, times)}` : `${base}#${percent(held, times)}`;
};

describe(`Of ${LINKS.toLocaleString('en-US')} links in links`, () => {
  it('each that a row of the table reads has the verdict of the link that it carries', async () => {
    const carriers = ROWS.filter(({ host }) => !host.endsWith(':')).map(({ host }) => `ALLOWED URL ${host}` as const);
    const check = await checkerOf([`BLOCKED URL ${TARGET}`, `BLOCKED ADDRESS ${ACCOUNT}`, ...new Set(carriers)]);
    const random = new Random(Number(process.env['SEED'] ?? 61));
    const missed = new Set<string>();
    for (let n = 0; n < LINKS / 2 && missed.size < 20; n += 1) {
      const link = linkOfRow(random);
      if (check(link).status !== 'BLOCKED') missed.add(link);
    }
    expect([...missed]).toEqual([]);
  }, 1_800_000);

  it('none that no row reads is ALLOWED or BLOCKED, and each is named by nothing but itself', async () => {
    const allowed = HOSTS.map((host) => `ALLOWED URL ${host}` as const);
    const checks = await Promise.all([
      checkerOf([`ALLOWED URL ${TARGET}`, ...allowed]),
      checkerOf([`BLOCKED URL ${TARGET}`, ...allowed]),
    ]);
    const random = new Random(Number(process.env['SEED'] ?? 62));
    const wrong = new Set<string>();
    for (let n = 0; n < LINKS / 2 && wrong.size < 20; n += 1) {
      const link = linkWithoutRow(random);
      const asset = { type: 'PAGE', content: link };
      const key = assetKey(asset);
      const hasKey = (content: string): boolean => parseContent(content).parsed?.blockingKeys?.includes(key) === true;
      if (
        checks.some((check) => check(link).status !== 'UNKNOWN') ||
        readEntry(link, suffixes, { pages: true, accounts: true }) !== 'unsupported' ||
        typeof readEntry(link, suffixes, { pages: false, accounts: false }) !== 'string' ||
        scopeOf(asset, key) !== 'one-link' ||
        !hasKey(link) ||
        hasKey(link.replace(/(?<=https:..[^/]*\/)/, 'other/')) ||
        assetKey({ type: 'PAGE', content: key.slice('PAGE:'.length) }) !== key
      )
        wrong.add(link);
    }
    expect([...wrong]).toEqual([]);
  }, 1_800_000);
});

describe('A link with a link in it that no row reads', () => {
  const LINK = `https://gateway.example/v4?u=https%3A%2F%2F${TARGET}`;

  it('is BLOCKED by its host, a page above it, and its own status, whose other links stay as they are', async () => {
    for (const status of ['BLOCKED URL gateway.example', 'BLOCKED PAGE gateway.example/v4'] as const)
      expect((await checkerOf([status]))(LINK).status).toBe('BLOCKED');
    const check = await checkerOf([`BLOCKED PAGE ${LINK}`]);
    expect(check(LINK).status).toBe('BLOCKED');
    for (const other of [
      `https://gateway.example/v4?u=https%3A%2F%2Fgood.example`,
      'https://gateway.example/v4',
      TARGET,
    ])
      expect(check(other).status).toBe('UNKNOWN');
  });

  it('is not ALLOWED by its own status, by a list or below an ALLOWED domain', async () => {
    const check = await checkerOf([`ALLOWED PAGE ${LINK}`], [{ text: 'gateway.example', verdict: 'ALLOWED' }]);
    expect(check(LINK)).toMatchObject({ status: 'UNKNOWN', message: expect.stringContaining('could not be read') });
    expect(check('https://gateway.example/v4').status).toBe('ALLOWED');
  });

  it('is still blocked by a status of the page that a known parameter names, without the other link', async () => {
    const check = await checkerOf(['BLOCKED PAGE https://forum.example/viewtopic.php?t=5']);
    expect(check(`https://forum.example/viewtopic.php?t=5&ref=https://${TARGET}`).status).toBe('BLOCKED');
  });

  it('is a list entry for its page if people publish on the host', async () => {
    const text = `https://docs.google.com/forms/d/e/EVIL/viewform?entry.1=https://${TARGET}`;
    const check = await checkerOf([], [{ text }]);
    expect(check('https://docs.google.com/forms/d/e/EVIL/viewform').status).toBe('BLOCKED');
  });
});

describe('A status of one link of a sender', () => {
  it.each([
    ['https://u1.ct.sendgrid.net/ls/click?upn=one', 'https://u1.ct.sendgrid.net/ls/click?upn=two'],
    ['https://click.mail.sender.example/?qs=one', 'https://click.mail.sender.example/?qs=two'],
    [
      `https://phantom.app/ul/v1/connect?app_url=https://${TARGET}&redirect_link=https://a.example/b`,
      'https://phantom.app/ul/v1/connect?app_url=https://good.example&redirect_link=https://a.example/b',
    ],
  ])('applies to that link alone: %s', async (link, other) => {
    const check = await checkerOf([`BLOCKED PAGE ${link}`]);
    expect([check(link).status, check(other).status]).toEqual(['BLOCKED', 'UNKNOWN']);
  });
});

describe('A proxied host and a payment to a federated name', () => {
  it.each([
    'https://evil.example.mcas.ms/p',
    'https://evil-example.translate.goog/p?_x_tr_sl=auto',
    'https://example.translate.goog/?_x_tr_hp=evil-&_x_tr_sl=auto',
    'https://1-evil-example.translate.goog/?_x_tr_enc=1',
    'https://xample.translate.goog/?_x_tr_enc=0,1&_x_tr_hp=1-evil-e',
    'https://links.us1.defend.egress.com/Warning?crId=1&@OriginalLink=evil.example',
    'web+stellar:pay?destination=mallory*evil.example&amount=1',
    'web+stellar:pay?destination=mallory%2Aevil.example',
  ])('are read, so that what they open can block: %s', async (content) => {
    const check = await checkerOf([`BLOCKED URL ${TARGET}`, 'ALLOWED URL mcas.ms', 'ALLOWED URL egress.com']);
    expect(check(content).status).toBe('BLOCKED');
  });
});
