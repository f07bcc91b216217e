import type { Outcome, Scenario } from '../../scenario.js';
import { eventually } from '../../../test/support/eventually.js';
import { Random } from '../../../test/support/random.js';
import { cloudEvent, sentStatus } from '../../../test/support/upstream.js';
import { runConcurrently } from '../../rig/run-concurrently.js';
import { sendAll } from '../../rig/send-all.js';
import { startNaiveService, TENANTS } from '../../rig/shared-services.js';
import type { Target } from '../../rig/target.js';
import { verdictsOf } from '../../rig/verdicts.js';

interface Scale {
  readonly forms: number;
}

const BULK = 1_000;
const MAX_LENGTH = 4_096;
const HOST = 'evaded-target.example';
const ADDRESS = '198.51.100.23';

const NOISE = ['\t', '\n', '\r', '\r\n'];
const AROUND = ['', '', ' ', '\u0000', '\u0001', '\u001f', '\u000b ', '\u001b', '  ', '\t'];
const USERS = [
  '',
  'user@',
  'user:password@',
  'bank.com@',
  'bank.com:443@',
  '@',
  ':@',
  '<>"`{}|^@',
  '%40bank.com@',
  'a@b@c@',
  'ü漢😀@',
  `${'a'.repeat(1_500)}@`,
  `bank.com${'%20'.repeat(400)}@`,
];
const LABELS = ['', '', 'www.', '*.', '-.', '_.', '--.', 'xn--bcher-kva.', 'a.b.c.', '_dmarc.', 'ä.'];
const TAILS = [
  '',
  '/',
  '/path',
  '?q=bank.com',
  '#bank.com',
  '/../..',
  '/@bank.com',
  '\\@bank.com',
  ':443',
  ':80/',
  ':/',
  '/%00',
];
const SCHEMES = ['http:', 'https:', 'HTTP:', 'hTTps:', 'http:', 'https:'];
const SLASHES = ['//', '//', '/', '', '\\\\', '\\/', '////', '/\\/'];
const ADDRESSES = [
  ADDRESS,
  '3325256727',
  '0xc6336417',
  '0306.063.0144.027',
  '198.51.25623',
  '0xc6.0x33.0x64.0x17',
  `[::ffff:${ADDRESS}]`,
  '[::ffff:c633:6417]',
  '[0:0:0:0:0:ffff:c633:6417]',
  `${ADDRESS}.`,
];
const INVISIBLE = ['\u00ad', '\u200b', '\u2060', '\ufeff', '\u200c', '\ufe0f'];

/** Returns an equivalent spelling of a letter in a URL. */
const letter = (random: Random, char: string): string => {
  if (char === '.') return random.pick(['.', '.', '。', '．', '｡', '%2E']);
  const code = char.codePointAt(0)!;
  switch (random.int(12)) {
    case 0:
      return char.toUpperCase();
    case 1:
      return code > 0x20 && code < 0x7f ? String.fromCodePoint(code + 0xfee0) : char;
    case 2:
      return `%${code.toString(16)}`;
    case 3:
      return /[a-z]/.test(char) ? String.fromCodePoint(0x1d41a + code - 0x61) : char;
    case 4:
      return char + random.pick(INVISIBLE);
    default:
      return char;
  }
};

const written = (random: Random, host: string): string => {
  let text = '';
  for (const char of host) {
    text += random.chance(0.3) ? letter(random, char) : char;
    if (random.chance(0.03)) text += random.pick(NOISE);
  }
  return text;
};

const scattered = (random: Random, text: string): string =>
  random.chance(0.3) ? text.replace(/./, (char) => char + random.pick(NOISE)) : text;

const form = (random: Random): string => {
  const host = random.chance(0.2)
    ? random.pick(ADDRESSES)
    : random.pick(LABELS) + written(random, HOST) + random.pick(['', '', '.']);
  return (
    random.pick(AROUND) +
    scattered(random, random.pick(SCHEMES)) +
    random.pick(SLASHES) +
    random.pick(USERS) +
    host +
    random.pick(TAILS) +
    random.pick(AROUND)
  );
};

/** Returns whether a browser would open the blocked site. */
const opens = (text: string): boolean => {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  if (!/^https?:$/.test(url.protocol)) return false;
  const host = url.hostname.replace(/\.$/, '');
  return host === HOST || host.endsWith(`.${HOST}`) || host === ADDRESS || /^\[::ffff:c633:6417\]$/.test(host);
};

const forms = (random: Random, count: number): string[] => {
  const found: string[] = [];
  while (found.length < count) {
    const text = form(random);
    if (text.length <= MAX_LENGTH && opens(text)) found.push(text);
  }
  return found;
};

const attack = async (
  target: Target,
  { forms: many }: Scale,
  seed: number,
  reportProgress: (progress: string) => void = () => {},
): Promise<Outcome> => {
  const check = (contents: readonly string[]) => verdictsOf(target, TENANTS[13]!, contents);
  const blocked = (content: string): object =>
    cloudEvent(sentStatus(`evaded-${content}`, { asset: { type: 'URL', content } }));
  await sendAll(target, target.upstreamKey, [HOST, ADDRESS].map(blocked));
  await eventually('the sites are blocked', async () =>
    (await check([`http://${HOST}/`, `http://${ADDRESS}/`])).every(({ status }) => status === 'BLOCKED'),
  );
  const random = new Random(seed);
  const missed: string[] = [];
  let checkedForms = 0;
  await runConcurrently(3, Math.ceil(many / BULK), async (n) => {
    const contents = forms(random, Math.min(BULK, many - n * BULK));
    const results = await check(contents);
    checkedForms += contents.length;
    reportProgress(`${checkedForms} of ${many} forms`);
    for (const [n, { status, code }] of results.entries())
      if (status !== 'BLOCKED') missed.push(`${JSON.stringify(contents[n]!.slice(0, 200))} is ${code ?? status}`);
  });
  return {
    workload: `${checkedForms} spellings that a browser opens`,
    observed: 'all recognised',
    findings:
      missed.length === 0 ? [] : [`${missed.length} forms are not recognised as blocked, the first: ${missed[0]}`],
  };
};

export const evasion: Scenario<Scale> = {
  name: 'S20',
  what: 'a blocked site is written in every way that a browser opens',
  asvs: { '1.1.1': 'Encoding and Sanitization Architecture', '1.5.3': 'Safe Deserialization' },
  full: { forms: 1_000_000 },
  run: async (context, scale, sharedServices) =>
    attack(await sharedServices.service(), scale, context.seed, context.reportProgress),
  guard: 'content is parsed as a browser parses it',
  controlScale: { forms: 200 },
  withoutGuard: async (context, scale) => attack(await startNaiveService(context), scale, context.seed),
};
