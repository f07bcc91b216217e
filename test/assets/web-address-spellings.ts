import type { Random } from '../support/random.js';

/** Characters with a special meaning for the URL parser, for IDNA or for a naive parser. */
const ODD = Array.from(
  '\u0000\u0001\u001f\u007f \t\n\r!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~aZ09\u00a0\u00ad\u00df\u00e9\u0130\u0301\u034f' +
    '\u03c2\u0627\u180b\u200b\u200c\u200d\u2028\u2060\u2064\u2488\u3002\u3164\u4f8b\uac00\ufe0f\uff0e\uff0f\uff10' +
    '\uff20\uff21\uff61\ufdfa\ufeff\ufffd\u{1d400}\u{1f4a9}\u{e0100}',
).concat(String.fromCharCode(0xd800));
const IGNORED = Array.from('\t\n\r\u00ad\u200b\u2060\ufeff\ufe0f\u{e0100}');
const NAMES = [
  'evil.example',
  'a.b.evil.co.uk',
  'www.münchen.example',
  'xn--mnchen-3ya.example',
  'faß.example',
  '例え.テスト',
  'x.com',
  'medium.com',
  'sites.google.com',
  'someone.github.io',
  'name.t.me',
  'localhost',
  'router',
  'printer.local',
  '*.evil.example',
  '-.evil.example',
  '-evil.example',
  'evil-.example',
  '_dmarc.evil.example',
  'ev!il.example',
  "it's.evil.example",
  'a..evil.example',
  '.evil.example',
  `${'a'.repeat(70)}.evil.example`,
  `${'a.'.repeat(200)}evil.example`,
  `${'é'.repeat(40)}.evil.example`,
];
const NUMBERS = [
  '8.8.8.8',
  '127.0.0.1',
  '127.1',
  '134744072',
  '0x8080808',
  '0x08.010.8.8',
  '010.010.010.010',
  '8.8.2056',
  '8.526344',
  '1.2.3.4.5',
  '256.1.1.1',
  '0x',
  '1.0x',
  '４.４.４.４',
  '[::1]',
  '[2606:4700::1111]',
  '[::ffff:8.8.8.8]',
  '[0:0:0:0:0:FFFF:0808:0808]',
  '[::ffff:127.0.0.1]',
  '[::FFFF:0.0.0.1]',
  '[::8.8.8.8]',
  '[64:ff9b::808:808]',
  '[fe80::1%25eth0]',
  '[1:2:3:4:5:6:7:8]',
];
const PATHS = [
  '/',
  '/a/b',
  '/a/../b',
  '\\x',
  '?x',
  '#x',
  '/@evil',
  '/a@b',
  '?a@b.example',
  '/%00',
  '/a b',
  '//x',
  '/é',
];

const times = <T>(count: number, make: () => T): T[] => Array.from({ length: count }, make);

/** Returns a random text that the URL parser may accept as a web address. */
export const webAddressSpelling = (random: Random): string => {
  const odd = (maxLength: number): string => times(random.int(maxLength + 1), () => random.pick(ODD)).join('');
  const leading = random.chance(0.2)
    ? times(1 + random.int(3), () => random.pick(['\u0000', '\u001f', ' ', '\t', '\n'])).join('')
    : '';
  const scheme = random.pick(['http', 'https', 'HTTP', 'hTTps', 'https', 'http']);
  const slashes = random.pick(['://', '://', '://', ':', ':/', ':///', ':\\\\', ':/\\', ':\\', '://\\/', ':////']);
  const user = random.chance(0.3) ? `${userOf(random, odd)}@` : '';
  const port = random.pick(['', '', '', '', ':80', ':', ':0443', ':8443', ':65535', ':65536', ':8\t0', ':x']);
  const dots = random.pick(['', '', '', '', '.', '。', '..']);
  const rest = random.pick(['', '', ...PATHS]);
  let spelling = `${leading}${scheme}${slashes}${user}${hostOf(random)}${dots}${port}${rest}`;
  const changes = random.pick([0, 0, 0, 1, 1, 2, 4]);
  for (let change = 0; change < changes; change += 1) {
    const at = random.int(spelling.length + 1);
    spelling = spelling.slice(0, at) + random.pick(ODD) + spelling.slice(at + random.int(2));
  }
  return random.chance(0.2)
    ? `${spelling}${random.pick(['\u0000', '\u0001 ', ' ', '\n', '\r\n', '\u001f'])}`
    : spelling;
};

/** Units of long user names, each with the maximum number of repetitions. */
const LONG: readonly (readonly [string, number])[] = [
  ['x', 1_600],
  ['"', 1_600],
  ['<', 1_600],
  ['\u0000', 1_600],
  ['a:', 1_600],
  ['@', 1_600],
  [' ', 1_600],
  ['é', 240],
];

const userOf = (random: Random, odd: (maxLength: number) => string): string => {
  if (random.chance(0.1)) {
    const [unit, maxCount] = random.pick(LONG);
    return unit.repeat(Math.ceil(maxCount * (0.6 + 0.4 * random.next())));
  }
  return random.pick(['user', 'good.example', 'good.example:secret', odd(12), odd(40), 'a@b@c', '[::1]', '']);
};

const hostOf = (random: Random): string => {
  const host = random.chance(0.3) ? random.pick(NUMBERS) : random.pick(NAMES);
  const letters = Array.from(host);
  switch (random.int(9)) {
    case 0:
      return letters.map((letter) => (random.chance(0.5) ? letter.toUpperCase() : letter)).join('');
    case 1:
      return letters.map((letter) => (random.chance(0.3) ? random.pick(IGNORED) + letter : letter)).join('');
    case 2:
      return letters.map((letter) => (random.chance(0.5) ? encoded(letter) : letter)).join('');
    case 3:
      return letters.map((letter) => (random.chance(0.5) ? fullWidth(letter) : letter)).join('');
    case 4:
      return host.replaceAll('.', () => random.pick(['.', '\u3002', '\uff0e', '\uff61', '%2E', '%E3%80%82']));
    case 5:
      return host.normalize('NFD');
    case 6: {
      const at = random.int(letters.length + 1);
      return [...letters.slice(0, at), random.pick(ODD), ...letters.slice(at)].join('');
    }
    case 7:
      return letters.map((letter) => (random.chance(0.5) ? mathematical(letter) : letter)).join('');
    default:
      return host;
  }
};

const encoded = (letter: string): string =>
  Array.from(Buffer.from(letter), (byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');

const fullWidth = (letter: string): string =>
  /^[!-~]$/.test(letter) ? String.fromCharCode(letter.charCodeAt(0) + 0xfee0) : letter;

const mathematical = (letter: string): string =>
  /^[a-z]$/.test(letter) ? String.fromCodePoint(letter.charCodeAt(0) - 0x61 + 0x1d41a) : letter;
