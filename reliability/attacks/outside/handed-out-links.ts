import { linkForms } from '../../../test/assets/link-forms.js';
import type { Outcome, Scenario } from '../../scenario.js';
import { eventually } from '../../../test/support/eventually.js';
import { cloudEvent, sentStatus } from '../../../test/support/upstream.js';
import { sendAll } from '../../rig/send-all.js';
import { openNaive, TENANTS } from '../../rig/site.js';
import type { Target } from '../../rig/target.js';
import { verdictsOf } from '../../rig/verdicts.js';

interface Dose {
  /** Blocked names that each form is tried with. */
  readonly names: number;
  readonly timeoutMs: number;
}

/** Each form names this; a number or a code stays what it is. */
const SAMPLE = /evil/i;
const TYPES_BY_NUMBER: ReadonlySet<string> = new Set(['ADDRESS', 'IPFS', 'URL', 'PAGE']);

interface Link {
  readonly form: string;
  readonly type: string;
  readonly name: string;
}

/** The forms of profiles, each with the n-th name. */
const linksOf = (n: number): Link[] =>
  linkForms().flatMap(({ form, reading }) => {
    const [type = '', name = ''] = reading?.split(' ') ?? [];
    if (reading === undefined || TYPES_BY_NUMBER.has(type)) return [];
    if (n > 0 && !SAMPLE.test(name)) return [];
    const named = (text: string): string =>
      n === 0 ? text : text.replaceAll(new RegExp(SAMPLE, 'gi'), (evil) => `${evil}${n}`);
    return [{ form: named(form), type, name: named(name) }];
  });

/** What must stay open: forms of the same platforms that are nobody's profile. */
const strangers = (): string[] => linkForms().flatMap(({ form, reading }) => (reading === undefined ? [form] : []));

const attack = async (target: Target, { names, timeoutMs }: Dose): Promise<Outcome> => {
  const check = async (contents: readonly string[]): Promise<string[]> =>
    (await verdictsOf(target, TENANTS[12]!, contents)).map(({ status }) => status);
  const links = Array.from({ length: names }, (_, n) => linksOf(n)).flat();
  const profiles = [...new Map(links.map(({ type, name }) => [`${type} ${name}`, { type, content: name }])).values()];
  const run = `s30-${Date.now()}`;
  const events = profiles.map((asset, n) => cloudEvent(sentStatus(`${run}-${n}`, { asset })));
  const { accepted } = await sendAll(target, target.ingest, events);
  const last = links.at(-1)!;
  await eventually(
    'the profiles are blocked',
    async () => (await check([last.form]))[0] === 'BLOCKED',
    timeoutMs,
  ).catch(() => {
    /* found below */
  });
  const statuses = await check(links.map(({ form }) => form));
  const missed = links.filter((_, n) => statuses[n] !== 'BLOCKED');
  const others = strangers();
  const wrong = (await check(others)).flatMap((status, n) => (status === 'BLOCKED' ? [others[n]!] : []));
  return {
    dose: `${links.length} links to ${profiles.length} blocked profiles, ${others.length} to none`,
    seen: '0 missed, 0 wrong',
    findings: [
      ...(accepted === events.length ? [] : [`${events.length - accepted} of ${events.length} statuses were refused`]),
      ...(missed.length === 0 ? [] : [`${missed.length} links are missed, the first: ${missed[0]!.form}`]),
      ...(wrong.length === 0 ? [] : [`${wrong.length} links to nobody are blocked, the first: ${wrong[0]}`]),
    ],
  };
};

export const handedOutLinks: Scenario<Dose> = {
  name: 'S30',
  what: 'a blocked profile in every form that its platform hands out',
  asvs: { '1.1.1': 'Encoding and Sanitization Architecture', '1.5.3': 'Safe Deserialization' },
  full: { names: 500, timeoutMs: 60_000 },
  run: async (_, dose, site) => attack(await site.service(), dose),
  guard: 'links are read by the table of sites',
  counterTest: { names: 1, timeoutMs: 500 },
  without: async (scene, dose) => attack(await openNaive(scene), dose),
};
