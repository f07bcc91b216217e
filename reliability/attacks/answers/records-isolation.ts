import type { Outcome } from '../../faults/fault.js';
import { type Answer, ask } from '../../rig/ask.js';
import { cloudEvent, type Sent, sent, sentReport } from '../../../test/support/upstream.js';
import { eventually } from '../../../test/support/eventually.js';
import { Random } from '../../../test/support/random.js';
import type { Attack } from '../attack.js';
import { Canaries } from '../rig/canaries.js';
import { inLanes } from '../rig/lanes.js';
import { sendAll } from '../rig/send-all.js';
import { openNaive, TENANTS } from '../rig/site.js';
import type { Target } from '../rig/target.js';

interface Dose {
  readonly pairs: number;
}

const AT = '2026-03-01T00:00:00Z';
const LISTS = ['reports', 'threats', 'takedowns', 'verdicts'] as const;
const canary = (organization: string): string => new Canaries('listed').of(organization);
const ENTRIES = 20;
/** Of each entry. */
const CHANGES = 5;
const NOBODYS = canary('tenant-999');

const entry = (changeId: string, ...reviews: readonly (readonly [organization: string, brand: string])[]) => ({
  changeId,
  asset: { type: 'URL', content: 'shared.example' },
  status: 'BLOCKED',
  brandReviews: reviews.map(([organization, brand]) => ({ organization, brand })),
  createdAt: AT,
});

/** Their verdicts are looked at closely: one's entries concern others as well, the other's nobody else. */
const [CROWDED, ALONE] = [2, 3];
const idOf = (index: number, n: number): string => `e${index}-${String(n).padStart(3, '0')}`;

/** Brands of others, before and after the organization's own in every order. */
const crowd = (random: Random): [string, string][] =>
  TENANTS.filter((_, index) => index > ALONE && random.chance(0.5)).map((other) => [
    other,
    random.pick([canary(other), `a-${canary(other)}`, `z-${canary(other)}`]),
  ]);

/** What each organization has: a record of each kind, and some entries of the status history. */
const belongings = (random: Random, organization: string, index: number): Sent[] => {
  const name = canary(organization);
  const asset = { type: name.toUpperCase(), content: `${name}.example` };
  const times = { createdAt: AT, updatedAt: AT };
  const owned = { organization, asset, status: name.toUpperCase(), ...times };
  const entries = Array.from({ length: ENTRIES }, (_, n) => {
    const reviews: [string, string][] = [[organization, name], ...(index === CROWDED ? crowd(random) : [])];
    const id = idOf(index, n);
    return sent('AssetStatusChanged', entry(id, ...random.shuffled(reviews)), `s33-s-${id}`);
  });
  return [
    sent('FeatureFlagChanged', { organization, flag: 'brands-metrics', enabled: true, updatedAt: AT }, `s33-f-${name}`),
    sent('BrandRegistered', { organization, brand: name, name, updatedAt: AT }, `s33-b-${name}`),
    sent('ReportFiled', { organization, reportId: name, brands: [name], ...times }, `s33-r-${name}`),
    sent('ThreatStatusChanged', { ...owned, threatId: name }, `s33-t-${name}`),
    sent('TakedownFiled', { ...owned, takedownId: name, brand: name }, `s33-k-${name}`),
    ...entries,
  ];
};

/** A request for what is another's, and where it names something, the same request for what nobody has. */
const requestOf = (random: Random, index: number, lastEventId: string): readonly [theirs: string, nobodys?: string] => {
  const other = TENANTS[index]!;
  const list = random.pick(LISTS);
  const ofBrands = random.pick(LISTS.filter((each) => each !== 'threats'));
  const ofAssets = random.pick(LISTS.filter((each) => each !== 'reports'));
  const theirs = canary(other);
  const named = (path: (name: string) => string): readonly [string, string] => [path(theirs), path(NOBODYS)];
  return random.pick([
    [`${list}?organization=${other}&organizationSlug=${other}`],
    [`${list}.csv?organization=${other}`],
    [`feed?organization=${other}&organizationSlug=${other}`],
    [`feed?lastEventId=${lastEventId}`],
    named((name) => `${list}/${name}`),
    index === CROWDED
      ? [`verdicts.csv?organization=${other}`]
      : [`verdicts/${idOf(index, 0)}`, `verdicts/${idOf(index, 999)}`],
    named((name) => `${ofBrands}?brandSlug=${name}`),
    named((name) => `${ofBrands}.csv?brandSlug=${name}`),
    named((name) => `${ofAssets}?status=${name.toUpperCase()}`),
    named((name) => `${ofAssets}?assetType=${name.toUpperCase()}`),
    named((name) => `${ofAssets}?content=${name}.example`),
  ]);
};

/** No two cursors are alike. */
const withoutCursor = (text: string): string => text.replace(/"nextCursor":"[^"]*"/, '');

/** What a client can tell answers apart by, besides when they came. */
const seenIn = ({ status, headers, body }: Answer): string => {
  const { date: _, 'x-request-id': __, 'x-as-of': ___, 'consistency-token': ____, ...others } = headers;
  return withoutCursor(JSON.stringify([status, others, body]));
};

/** From where two texts differ. */
const difference = (one: string, other: string): string => {
  let from = 0;
  while (one[from] === other[from]) from += 1;
  return `${one.slice(from, from + 150)} … ${other.slice(from, from + 150)}`;
};

const send = (target: Target, events: readonly Sent[]): Promise<unknown> =>
  sendAll(target, target.ingest, events.map(cloudEvent));

const VERDICTS = ['verdicts', 'verdicts?limit=7', 'verdicts.csv', 'feed?types=verdict', 'feed?types=verdict&limit=3'];

const look = async (target: Target, { pairs }: Dose): Promise<Outcome> => {
  const { url, keys } = target;
  const random = new Random(1);
  const findings: string[] = [];
  const get = (organization: string, path: string): Promise<Answer> =>
    ask(`${url}/v2/organization/${path}`, { key: keys[organization] });
  for (const [index, organization] of TENANTS.entries()) await send(target, belongings(random, organization, index));
  const listed = (organization: string, path: string) =>
    eventually('what was sent is listed', async () => (await get(organization, path)).status === 200);
  await listed(TENANTS.at(-1)!, `verdicts/${idOf(TENANTS.length - 1, ENTRIES - 1)}`);

  const lastEventIds = new Map<string, string>();
  for (const organization of TENANTS) {
    const { body } = await get(organization, 'feed');
    lastEventIds.set(organization, Array.isArray(body) ? body.at(-1).id : '');
  }
  const canaries = new Canaries('listed');
  await inLanes(8, pairs, async () => {
    const [me, index] = [random.pick(TENANTS), random.int(TENANTS.length)];
    const other = TENANTS[index]!;
    const [theirs, nobodys] = requestOf(random, index, lastEventIds.get(other)!);
    const answer = await get(me, theirs);
    const all = `${JSON.stringify(answer.headers)} ${JSON.stringify(answer.body)}`;
    findings.push(...canaries.check(me, all, theirs));
    if (me === other || nobodys === undefined) return;
    const unknown = await get(me, nobodys);
    // One table at a time.
    const isBusy = [answer, unknown].some(({ status }) => status === 429 || status === 503);
    if (!isBusy && seenIn(answer) !== seenIn(unknown))
      findings.push(`${theirs} is answered otherwise than ${nobodys}: ${difference(seenIn(answer), seenIn(unknown))}`);
  });

  // The same entries, reviewed for one alone and for many.
  const view = async (index: number): Promise<Answer[]> => {
    const all = [];
    for (const path of [...VERDICTS, `verdicts/${idOf(index, 3)}`]) all.push(await get(TENANTS[index]!, path));
    return all;
  };
  const alike = (index: number, answers: readonly Answer[]): string =>
    answers
      .map(({ body, headers }) => `${headers['content-length']} ${withoutCursor(JSON.stringify(body))}`)
      .join('\n')
      .replaceAll(canary(TENANTS[index]!), 'own')
      .replaceAll(`e${index}-`, 'e')
      .replaceAll(/"time":"[^"]*"/g, '')
      .replaceAll(/[\w-]{8}\.[\w-]{22}/g, 'an id of the feed');
  const [crowded, alone] = [alike(CROWDED, await view(CROWDED)), alike(ALONE, await view(ALONE))];
  if (crowded !== alone)
    findings.push(`Verdicts that concern others as well look otherwise: ${difference(crowded, alone)}`);

  // What others gain and lose of an entry moves nothing: no byte, no tag, no place and no time in the feed.
  const before = (await view(ALONE)).map(seenIn);
  const [me, name] = [TENANTS[ALONE]!, canary(TENANTS[ALONE]!)];
  for (let change = 0; change < CHANGES; change += 1)
    await send(
      target,
      Array.from({ length: ENTRIES }, (_, n) =>
        sent(
          'AssetStatusChanged',
          entry(idOf(ALONE, n), ...random.shuffled<[string, string]>([[me, name], ...crowd(random)])),
        ),
      ),
    );
  await send(target, [sentReport('last', { organization: me }, 's33-last')]);
  await listed(me, 'reports/last');
  const after = (await view(ALONE)).map(seenIn);
  for (const [index, path] of [...VERDICTS, 'verdicts/ID'].entries())
    if (before[index] !== after[index])
      findings.push(`${path} shows that others’ brands changed: ${difference(before[index]!, after[index]!)}`);

  findings.push(...canaries.checkAfterwards(target));
  return {
    dose: `${TENANTS.length} organizations, ${pairs} pairs of key and request, ${CHANGES * ENTRIES} changes of others’ brands`,
    seen: `0 of others in bodies, headers and logs, own words seen ${canaries.own} times; what is another’s is what nobody has`,
    findings,
  };
};

export const recordsIsolation: Attack<Dose> = {
  name: 'S33',
  what: 'one organization asks lists, tables and the feed for what is another’s',
  asvs: { '8.4.1': 'Other Authorization Considerations', '8.2.2': 'General Authorization Design' },
  doses: { short: { pairs: 400 }, full: { pairs: 12_000 } },
  run: async ({ site }, dose) => look(await site.service(), dose),
  guard: 'records are read by the key’s organization, verdicts with its own brands alone',
  without: async ({ scene }) => look(await openNaive(scene), { pairs: 100 }),
};
