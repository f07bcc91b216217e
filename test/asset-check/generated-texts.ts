import { bech32 } from '@scure/base';
import type { Random } from '../support/random.js';

/** A generated text, and what it opens. The generator shares no code with the reading of content. */
export interface GeneratedText {
  readonly text: string;
  /** Whether something that the text opens is BLOCKED. */
  readonly opensBlocked: boolean;
}

type Status = 'blocked' | 'allowed' | 'unknown';

const HOSTS: Readonly<Record<Status, readonly string[]>> = {
  blocked: ['evil.example', 'a.evil.example', '93.184.215.14', '[2606:4700::1]', 'xn--vil-9ma.example'],
  allowed: ['good.example', 'www.good.example'],
  unknown: ['unknown.example', '93.184.215.99', 'another.example'],
};
export const EVIL_ACCOUNT = '0x00000000000000000000000000000000000000e1';
export const GOOD_ACCOUNT = '0x00000000000000000000000000000000000000a1';
const UNKNOWN_ACCOUNT = '0x00000000000000000000000000000000000000c1';
const ACCOUNTS: Readonly<Record<Status, string>> = {
  blocked: EVIL_ACCOUNT,
  allowed: GOOD_ACCOUNT,
  unknown: UNKNOWN_ACCOUNT,
};

/** The own statuses for which the texts are generated. */
export const STATUSES = [
  ...['evil.example', '93.184.215.14', '[2606:4700::1]', 'xn--vil-9ma.example'].map(
    (host) => `BLOCKED URL ${host}` as const,
  ),
  'BLOCKED TWITTER evil',
  'BLOCKED PAGE https://www.youtube.com/watch?v=EVIL',
  'BLOCKED EMAIL x@evil-mail.example',
  `BLOCKED ADDRESS ${EVIL_ACCOUNT}`,
  'ALLOWED URL good.example',
  'ALLOWED TWITTER good',
  'ALLOWED PAGE https://www.youtube.com/watch?v=GOOD',
  'ALLOWED EMAIL x@good-mail.example',
  `ALLOWED ADDRESS ${GOOD_ACCOUNT}`,
] as const;

const base64url = (text: string): string => Buffer.from(text).toString('base64url');
const encoded = encodeURIComponent;
const PATHS = ['', '/', '/a', '/a/b?c=d', '/?x=1#y', '/%20'];

const link = (random: Random, status: Status): string => {
  if (random.chance(0.15)) return `https://x.com/${{ blocked: 'evil', allowed: 'good', unknown: 'else' }[status]}`;
  if (random.chance(0.1))
    return `https://${random.pick(['www.', 'm.', ''])}youtube.com/watch?${random.pick(['', 't=1&', 'utm_source=x&'])}v=${{ blocked: 'EVIL', allowed: 'GOOD', unknown: 'ELSE' }[status]}`;
  return `${random.pick(['https', 'http'])}://${random.pick(HOSTS[status])}${random.pick(PATHS)}`;
};

/** The number of carriers that carry any link. The others carry only web links. */
const ANY_LINK = 6;
/** Wraps a link so that opening the text opens the link. */
const CARRIERS: readonly ((link: string) => string)[] = [
  (inner) => `https://nam02.safelinks.protection.outlook.com/?url=${encoded(inner)}&data=05`,
  (inner) => `https://www.google.com/url?sa=t&q=${encoded(inner)}`,
  (inner) => `https://l.facebook.com/l.php?u=${encoded(inner)}&h=x`,
  (inner) => `https://urldefense.proofpoint.com/v1/url?u=${encoded(inner)}`,
  (inner) =>
    `https://urldefense.proofpoint.com/v2/url?u=${encoded(inner).replaceAll('_', '%5F').replaceAll('-', '%2D').replaceAll('%', '-')}`,
  (inner) => `https://www.bing.com/ck/a?u=a1${base64url(inner)}`,
  (inner) => `https://eu.protection.sophos.com/?u=${base64url(inner)}`,
  (inner) => `https://link.trustwallet.com/open_url?coin_id=60&url=${encoded(inner)}`,
  (inner) => `trust://open_url?url=${encoded(inner)}`,
  (inner) => `https://go.cb-w.com/dapp?cb_url=${encoded(inner)}`,
  (inner) => `https://phantom.app/ul/browse/${encoded(inner)}?ref=x`,
  (inner) => `https://slack-redir.net/link?url=${encoded(inner)}`,
  (inner) => `tpdapp://open?params=${encoded(JSON.stringify({ url: inner }))}`,
  (inner) => `some-app://open?data=${encoded(JSON.stringify({ link: inner }))}`,
  (inner) => `intent://x#Intent;scheme=zxing;S.browser_fallback_url=${encoded(inner)};end`,
  (inner) => `lightning:${bech32.encode('lnurl', bech32.toWords(Buffer.from(inner)), false)}`,
];

/** Writes a link as markup. */
const MARKUP: readonly ((link: string) => string)[] = [
  (inner) => `[text](${inner})`,
  (inner) => `![image](${inner})`,
  (inner) => `<a class="x" href="${inner}">text</a>`,
  (inner) => `<${inner}|text>`,
  (inner) => `[url]${inner}[/url]`,
  (inner) => `text <${inner}>`,
];

/** Texts with two links. Which one is opened depends on the program that shows the text. */
const PAIRS: readonly ((first: string, second: string) => string)[] = [
  (first, second) => `[![image](${first})](${second})`,
  (first, second) => `<a data-href="${first}" href="${second}">`,
  (first, second) => `${first} ${second}`,
  (first, second) => `${first}/,${second}`,
  (first, second) => `${first}/\n${second.replace(/^https?:\/\//, '')}`,
  (first, second) => `${first}/ ${second.replace(/^https?:/, '')}`,
  (first, second) => `${first}/a<${second}>`,
  (first, second) => `${first}](${second})`,
  (first, second) => `${first}/\u0001${second.replace(/^https?:\/\//, 'https:')}`,
  (first, second) => `BEGIN:VCARD\nURL:${first}\nURL;TYPE=work:${second}\nEND:VCARD`,
  (first, second) => `https://link.trustwallet.com/open_url?url=${encoded(first)}&url=${encoded(second)}`,
  (first, second) => `https://www.google.com/url?q=${encoded(first)}&url=${encoded(second)}`,
  (first, second) => `some-wallet://open?x=${first}&url=${second}`,
  (first, second) => `${intentOf(first)};S.browser_fallback_url=${encoded(second)};end`,
];
const intentOf = (first: string): string => `intent://${first.replace(/^https?:\/\//, '')}#Intent;scheme=https`;

/** Changes a link without changing what it opens. */
const SPELLINGS: readonly ((link: string) => string)[] = [
  (text) => text.replace(/^https?:/, (scheme) => scheme.toUpperCase()),
  (text) => ` ${text}\n`,
  (text) => text.replace('://', ':\\\\'),
  (text) => text.replace('://', '://user@'),
  (text) => text.replace('https://', 'hxxps://'),
  (text) => text.replace('evil.example', 'EVIL.example').replace('good.example', 'Good.Example'),
  (text) => text.replace('.example', '[.]example'),
  (text) => text.replace('.example', '%2Eexample'),
  (text) => text.replace('.example', '\u3002example'),
  (text) => text.replace('example', 'exam\tple'),
  (text) => `"${text}"`,
];

const PAYMENTS: readonly ((account: string) => string)[] = [
  (account) => account,
  (account) => `ethereum:${account}@1?value=1`,
  (account) => `eip155:1:${account}`,
  (account) => `xdc${account.slice(2)}`,
  (account) => `https://metamask.app.link/send/${account}@1`,
  (account) => `ethereum:${UNKNOWN_ACCOUNT}@1/transfer?address=${account}&uint256=1`,
  (account) => `ethereum:${GOOD_ACCOUNT}@1/transfer?address=eth:${account}&uint256=1`,
  (account) => `ethereum:${GOOD_ACCOUNT}@1/${'permit'}?address=${account}`,
];

const STATUSES_OF_PARTS: readonly Status[] = ['blocked', 'allowed', 'unknown'];

/** Generates one text: candidates, markup, nesting, encodings, calls. */
export const generateText = (random: Random): GeneratedText => {
  const status = random.pick(STATUSES_OF_PARTS);
  const kind = random.int(10);
  if (kind === 0) return { text: random.pick(PAYMENTS)(ACCOUNTS[status]), opensBlocked: status === 'blocked' };
  if (kind === 1) {
    const other = random.pick(STATUSES_OF_PARTS);
    const text = random.pick(PAIRS)(link(random, status), link(random, other));
    return { text, opensBlocked: status === 'blocked' || other === 'blocked' };
  }
  if (kind === 2) {
    const mail = { blocked: 'x@evil-mail.example', allowed: 'x@good-mail.example', unknown: 'y@mail.example' };
    const other = random.pick(STATUSES_OF_PARTS);
    const text = `mailto:${mail[status].replace('@', random.pick(['@', '%40']))}${random.pick([',', '?cc=', '?bcc='])}${mail[other]}`;
    return { text, opensBlocked: status === 'blocked' || other === 'blocked' };
  }
  let text = link(random, status);
  if (random.chance(0.3)) text = random.pick(SPELLINGS)(text);
  const depth = random.int(5);
  for (let level = 0; level < depth; level += 1) {
    const carriers = /^\s*https?:/i.test(text) ? CARRIERS : CARRIERS.slice(0, ANY_LINK);
    text = random.pick(carriers)(text.trim());
  }
  if (random.chance(0.2) && text.startsWith('http')) text = random.pick(MARKUP)(text);
  return { text, opensBlocked: status === 'blocked' };
};
