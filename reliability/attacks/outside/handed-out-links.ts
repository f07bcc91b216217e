import { linkForms } from '../../../test/support/cases/link-forms.js';
import type { Outcome, Scenario } from '../../scenario.js';
import { eventually } from '../../../test/support/eventually.js';
import { cloudEvent, sentStatus } from '../../../test/support/upstream.js';
import { sendAll } from '../../rig/send-all.js';
import { startNaiveService, TENANTS } from '../../rig/shared-services.js';
import type { Target } from '../../rig/target.js';
import { verdictsOf } from '../../rig/verdicts.js';

interface Scale {
  /** The number of blocked names per form. */
  readonly names: number;
  readonly timeoutMs: number;
}

/** Replaced by the name in each form; numbers and codes stay. */
const SAMPLE = /evil/i;
const TYPES_BY_NUMBER: ReadonlySet<string> = new Set(['ADDRESS', 'IPFS', 'URL', 'PAGE']);

interface Link {
  readonly form: string;
  readonly type: string;
  readonly name: string;
}

/** Returns the links to the n-th profile in every form. */
const linksOf = (n: number): Link[] =>
  linkForms().flatMap(({ form, reading }) => {
    const [type = '', name = ''] = reading?.split(' ') ?? [];
    if (reading === undefined || TYPES_BY_NUMBER.has(type)) return [];
    if (n > 0 && !SAMPLE.test(name)) return [];
    const withName = (text: string): string =>
      n === 0 ? text : text.replaceAll(new RegExp(SAMPLE, 'gi'), (evil) => `${evil}${n}`);
    return [{ form: withName(form), type, name: withName(name) }];
  });

/** Links of the same platforms that do not lead to profiles. They must not be blocked. */
const strangers = (): string[] => linkForms().flatMap(({ form, reading }) => (reading === undefined ? [form] : []));

const attack = async (target: Target, { names, timeoutMs }: Scale): Promise<Outcome> => {
  const check = async (contents: readonly string[]): Promise<string[]> =>
    (await verdictsOf(target, TENANTS[12]!, contents)).map(({ status }) => status);
  const links = Array.from({ length: names }, (_, n) => linksOf(n)).flat();
  const profiles = [...new Map(links.map(({ type, name }) => [`${type} ${name}`, { type, content: name }])).values()];
  const run = `s30-${Date.now()}`;
  const events = profiles.map((asset, n) => cloudEvent(sentStatus(`${run}-${n}`, { asset })));
  const { accepted } = await sendAll(target, target.upstreamKey, events);
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
  const linksToNoProfile = strangers();
  const wronglyBlocked = (await check(linksToNoProfile)).flatMap((status, n) =>
    status === 'BLOCKED' ? [linksToNoProfile[n]!] : [],
  );
  return {
    workload: `${links.length} links to ${profiles.length} blocked profiles, ${linksToNoProfile.length} links to no profile`,
    observed: 'none missed, none blocked wrongly',
    findings: [
      ...(accepted === events.length ? [] : [`${events.length - accepted} of ${events.length} statuses were rejected`]),
      ...(missed.length === 0 ? [] : [`${missed.length} links are missed, the first: ${missed[0]!.form}`]),
      ...(wronglyBlocked.length === 0
        ? []
        : [`${wronglyBlocked.length} links that lead to no profile are blocked, the first: ${wronglyBlocked[0]}`]),
    ],
  };
};

export const handedOutLinks: Scenario<Scale> = {
  name: 'S30',
  what: 'links to a blocked profile in every form that its platform uses',
  asvs: { '1.1.1': 'Encoding and Sanitization Architecture', '1.5.3': 'Safe Deserialization' },
  full: { names: 500, timeoutMs: 60_000 },
  run: async (_, scale, sharedServices) => attack(await sharedServices.service(), scale),
  guard: 'the table of platforms maps links to profiles',
  controlScale: { names: 1, timeoutMs: 500 },
  withoutGuard: async (context, scale) => attack(await startNaiveService(context), scale),
};
