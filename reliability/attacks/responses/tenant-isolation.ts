import { setTimeout as sleep } from 'node:timers/promises';
import { type HttpResponse, sendRequest, type HttpRequest } from '../../rig/http-request.js';
import { cloudEvent, type Sent, sent, sentReport, SOURCE } from '../../../test/support/upstream.js';
import { eventually } from '../../../test/support/eventually.js';
import { Random } from '../../../test/support/random.js';
import type { Outcome, Scenario } from '../../scenario.js';
import { Canaries } from '../../rig/canaries.js';
import { runConcurrently } from '../../rig/run-concurrently.js';
import { sendAll } from '../../rig/send-all.js';
import { startNaiveService, TENANTS } from '../../rig/shared-services.js';
import type { Target } from '../../rig/target.js';

interface Scale {
  readonly pairs: number;
}

const AT = '2026-03-01T00:00:00Z';
const ENTRIES = 20;
/** Changes per entry. */
const CHANGES = 5;
const canary = (organization: string): string => new Canaries().canaryOf(organization);
/** A canary of an organization that does not exist. */
const NOBODYS = canary('tenant-999');

const entry = (changeId: string, ...reviews: readonly (readonly [organization: string, brand: string])[]) => ({
  changeId,
  asset: { type: 'URL', content: 'shared.example' },
  status: 'BLOCKED',
  brandReviews: reviews.map(([organization, brand]) => ({ organization, brand })),
  createdAt: AT,
});

/** Two organizations whose verdicts are compared. Only the entries of the first one also concern others. */
const [CROWDED, ALONE] = [2, 3];
const idOf = (index: number, n: number): string => `e${index}-${String(n).padStart(3, '0')}`;

/** Returns brands of other organizations. */
const brandsOfOthers = (random: Random): [string, string][] =>
  TENANTS.filter((_, index) => index > ALONE && random.chance(0.5)).map((other) => [
    other,
    random.pick([canary(other), `a-${canary(other)}`, `z-${canary(other)}`]),
  ]);

/**
 * The data of an organization: a record of each kind, a brand, an asset in a group, and entries of the status history.
 */
const belongings = (random: Random, organization: string, index: number): Sent[] => {
  const name = canary(organization);
  const asset = { type: name.toUpperCase(), content: `${name}.example` };
  const times = { createdAt: AT, updatedAt: AT };
  const owned = { organization, asset, status: name.toUpperCase(), ...times };
  const entries = Array.from({ length: ENTRIES }, (_, n) => {
    const reviews: [string, string][] = [[organization, name], ...(index === CROWDED ? brandsOfOthers(random) : [])];
    const id = idOf(index, n);
    return sent('AssetStatusChanged', entry(id, ...random.shuffled(reviews)), `s1-s-${id}`);
  });
  return [
    sent('FeatureFlagChanged', { organization, flag: 'brands-metrics', enabled: true, updatedAt: AT }, `s1-f-${name}`),
    sent('BrandRegistered', { organization, brand: name, name, updatedAt: AT }, `s1-b-${name}`),
    sent('ReportFiled', { organization, reportId: name, brands: [name], ...times }, `s1-r-${name}`),
    sent('ThreatStatusChanged', { ...owned, threatId: name }, `s1-t-${name}`),
    sent('TakedownFiled', { ...owned, takedownId: name, brand: name }, `s1-k-${name}`),
    sent('AssetGrouped', { organization, groupId: 1, asset, updatedAt: AT }, `s1-g-${name}`),
    ...entries,
  ];
};

/** A request for the status of an event of the organization. */
const statusOf = (organization: string): object => {
  const threatId = canary(organization);
  const event = { source: SOURCE, id: `s1-t-${threatId}`, type: 'ThreatStatusChanged' };
  return { events: [{ ...event, record: { organization, threatId } }] };
};

/** An event that is rejected, with the canary of its organization in the sample. */
const rejectedOf = (organization: string): object => {
  const name = canary(organization);
  return cloudEvent(sentReport(name, { organization, createdAt: name }, `s1-j-${name}`));
};

interface Asked {
  readonly method?: string;
  readonly path: string;
  readonly json?: object;
}

const NO_OBJECT = 'indicator--00000000-0000-5000-8000-000000000000';
/** Requests of TAXII for one object, which no organization but the owner may find. */
const TAXII_BY_ID = ['threats', 'verdicts'].flatMap((collection) => [
  `/taxii2/api/collections/${collection}/objects/OBJECT`,
  `/taxii2/api/collections/${collection}/objects/OBJECT/versions`,
  `/taxii2/api/collections/${collection}/objects?match[id]=OBJECT`,
  `/taxii2/api/collections/${collection}/manifest?match[id]=OBJECT`,
]);
const LISTS = ['reports', 'threats', 'takedowns', 'verdicts'] as const;
const OF_BRANDS = LISTS.filter((each) => each !== 'threats');
const OF_ASSETS = LISTS.filter((each) => each !== 'reports');

/**
 * Requests for data of another organization, for every route.
 * @param name the canary of the other organization, or of an organization that does not exist
 * @param objectId the id of one of its objects in TAXII
 */
const namedRequests = (name: string, entryId: string, objectId: string): Asked[] =>
  [
    'metrics?brandSlug=NAME',
    'metrics/timeline?brandSlug=NAME',
    'metrics/timeline.csv?brandSlug=NAME',
    'metrics/comparison?brandSlug=NAME',
    'takedowns/statistics?brandSlug=NAME',
    'verdicts/ENTRY',
    ...LISTS.map((list) => `${list}/NAME`),
    ...OF_BRANDS.flatMap((list) => [`${list}?brandSlug=NAME`, `${list}.csv?brandSlug=NAME`]),
    ...OF_ASSETS.flatMap((list) => [`${list}?status=KIND`, `${list}?assetType=KIND`, `${list}?content=NAME.example`]),
  ]
    .map((path) => `/v2/organization/${path}`)
    .concat(TAXII_BY_ID)
    .map((path) => ({
      path: `${path.replace('NAME', name).replace('KIND', name.toUpperCase()).replace('ENTRY', entryId).replace('OBJECT', objectId)}`,
    }));

/** Requests that name another organization in parameters that must not decide the organization. */
const otherRequests = (other: string, lastEventId: string): Asked[] => {
  const asset = { contents: [`host-of.${other}.example`], organization: other };
  return [
    ...[
      '',
      '/brands',
      '/metrics',
      '/metrics/timeline',
      '/metrics/comparison',
      '/metrics/false-positives',
      '/takedowns/statistics',
      '/asset-groups',
      '/asset-groups/1',
      '/asset-groups/1/assets',
      '/asset-groups/2/assets',
      '/webhooks',
      '/feed',
      ...LISTS.flatMap((list) => [`/${list}`, `/${list}.csv`]),
    ].map((path) => ({ path: `/v2/organization${path}?organization=${other}&organizationSlug=${other}` })),
    { path: `/v2/organization/feed?lastEventId=${lastEventId}` },
    { path: `/v2/organization/metrics?startDate=${canary(other)}` },
    { method: 'POST', path: '/v2/organization/asset-groups/1/assets', json: asset },
    { method: 'POST', path: '/v2/organization/asset-groups/2/assets/remove', json: asset },
    {
      method: 'PATCH',
      path: '/v2/organization/asset-groups/2',
      json: { name: canary(other).slice(0, 4), organization: other },
    },
    { method: 'DELETE', path: '/v2/organization/asset-groups/2' },
    ...['rejected', 'parked', 'usage'].map((path) => ({ path: `/v2/events/${path}?organization=${other}` })),
    { method: 'POST', path: '/v2/events/status', json: statusOf(other) },
    { method: 'POST', path: '/v2/asset/history', json: { content: 'shared.example', organization: other } },
    { method: 'POST', path: '/v2/asset/check', json: { content: `host-of.${other}.example`, organization: other } },
    { method: 'POST', path: '/v2/asset/check/bulk', json: asset },
  ];
};

const headersFor = (random: Random, other: string): Record<string, string> =>
  random.chance(0.3) ? { 'x-organization': other, 'x-organization-slug': other, 'idempotency-key': `k-${other}` } : {};

/** Removes cursors, which are never equal. */
const withoutCursor = (text: string): string => text.replace(/"nextCursor":"[^"]*"/, '');

/** Returns everything that distinguishes responses for a client, except times. */
const seenIn = ({ status, headers, body }: HttpResponse): string => {
  const { date: _, 'x-request-id': __, 'x-as-of': ___, 'consistency-token': ____, ...others } = headers;
  return withoutCursor(JSON.stringify([status, others, body]));
};

/** Returns both texts from the first difference on. */
const difference = (one: string, other: string): string => {
  let from = 0;
  while (one[from] === other[from]) from += 1;
  return `${one.slice(from, from + 150)} … ${other.slice(from, from + 150)}`;
};

const send = (target: Target, events: readonly Sent[]): Promise<unknown> =>
  sendAll(target, target.upstreamKey, events.map(cloudEvent));

const VERDICTS = ['verdicts', 'verdicts?limit=7', 'verdicts.csv', 'feed?types=verdict', 'feed?types=verdict&limit=3'];

const attackTenants = async (target: Target, { pairs }: Scale): Promise<Outcome> => {
  const { url, keys, ingestKeys } = target;
  const random = new Random(1);
  const findings: string[] = [];
  /** Retries requests that a busy service rejects. */
  const sendUntilServed = async (path: string, question: HttpRequest): Promise<HttpResponse> => {
    for (;;) {
      const answer = await sendRequest(url + path, question);
      if (answer.status !== 429 && answer.status !== 503) return answer;
      await sleep(50);
    }
  };
  const get = (organization: string, path: string): Promise<HttpResponse> =>
    sendUntilServed(`/v2/organization/${path}`, { key: keys[organization] });
  for (const [index, organization] of TENANTS.entries()) {
    await sendUntilServed('/v2/organization/asset-groups', {
      key: keys[organization],
      json: { name: canary(organization) },
    });
    await send(target, belongings(random, organization, index));
    await sendAll(target, ingestKeys[organization], [rejectedOf(organization)]);
  }
  const listed = (organization: string, path: string) =>
    eventually('the sent records are listed', async () => (await get(organization, path)).status === 200);
  await listed(TENANTS.at(-1)!, `verdicts/${idOf(TENANTS.length - 1, ENTRIES - 1)}`);
  await eventually(
    'the records of the organizations are counted',
    async () => (await get(TENANTS.at(-1)!, 'metrics')).body.metrics?.reports > 0,
  );

  const lastEventIds = new Map<string, string>();
  for (const organization of TENANTS) {
    const { body } = await get(organization, 'feed');
    lastEventIds.set(organization, Array.isArray(body) ? body.at(-1).id : '');
  }
  /** Returns the verdicts as TAXII has them, once all are in it. */
  const objectsOf = async (organization: string): Promise<HttpResponse> => {
    const path = '/taxii2/api/collections/verdicts/objects/?limit=1000';
    for (;;) {
      const answer = await sendUntilServed(path, { key: keys[organization] });
      // The naive service has no TAXII.
      if (!(answer.body.objects?.length < ENTRIES)) return answer;
      await sleep(50);
    }
  };
  const objectIds = new Map<string, string>();
  for (const organization of TENANTS)
    objectIds.set(organization, (await objectsOf(organization)).body.objects?.[0].id ?? NO_OBJECT);
  const canaries = new Canaries();
  await runConcurrently(8, pairs, async () => {
    const [requester, index] = [random.pick(TENANTS), random.int(TENANTS.length)];
    const other = TENANTS[index]!;
    const headers = headersFor(random, other);
    const send = ({ path, ...asked }: Asked): Promise<HttpResponse> =>
      sendUntilServed(path, { ...asked, headers, key: (path.startsWith('/v2/events') ? ingestKeys : keys)[requester] });
    const requestsByName = namedRequests(canary(other), idOf(index, 0), objectIds.get(other)!);
    const requestIndex = random.int(requestsByName.length);
    const isNamed = random.chance(0.5);
    const asked = isNamed ? requestsByName[requestIndex]! : random.pick(otherRequests(other, lastEventIds.get(other)!));
    const answer = await send(asked);
    const all = `${JSON.stringify(answer.headers)} ${JSON.stringify(answer.body)}`;
    findings.push(...canaries.check(requester, all, `${asked.method ?? 'GET'} ${asked.path}`));
    // Entries of this organization also concern others.
    if (!isNamed || requester === other || (index === CROWDED && asked.path.includes(idOf(index, 0)))) return;
    const unknown = await send(namedRequests(NOBODYS, idOf(index, 999), NO_OBJECT)[requestIndex]!);
    if (seenIn(answer) !== seenIn(unknown))
      findings.push(
        `${asked.path} gets another response than for data that does not exist: ${difference(seenIn(answer), seenIn(unknown))}`,
      );
  });
  const key = keys[TENANTS[1]!];
  for (const [path, method] of [
    ['', 'DELETE'],
    ['', 'GET'],
    ['/assets', 'GET'],
  ] as const) {
    const groups = '/v2/organization/asset-groups';
    const [foreign, unknown] = [
      await sendUntilServed(`${groups}/2${path}`, { method, key }),
      await sendUntilServed(`${groups}/999${path}`, { method, key }),
    ];
    if (foreign.status !== 404 || JSON.stringify(foreign.body) !== JSON.stringify(unknown.body))
      findings.push(`${method} ${groups}/2${path} gets another response than for a group that does not exist`);
  }
  const status = async (organization: string): Promise<string> =>
    JSON.stringify(
      (await sendUntilServed('/v2/events/status', { key: ingestKeys[TENANTS[1]!], json: statusOf(organization) })).body,
    );
  if ((await status(TENANTS[2]!)) !== (await status('tenant-nobody')))
    findings.push('The status of another organization’s event differs from that of an event that does not exist');

  // Compares equal entries that were reviewed for one organization and for many.
  const view = async (index: number): Promise<HttpResponse[]> => {
    const all = [];
    for (const path of [...VERDICTS, `verdicts/${idOf(index, 3)}`]) all.push(await get(TENANTS[index]!, path));
    return all;
  };
  const comparable = (index: number, answers: readonly HttpResponse[]): string =>
    answers
      .map(({ body, headers }) => `${headers['content-length']} ${withoutCursor(JSON.stringify(body))}`)
      .join('\n')
      // First, because an id is random and may contain what is replaced below.
      .replaceAll(/[\w-]{8}\.[\w-]{22}/g, 'an id of the feed')
      .replaceAll(canary(TENANTS[index]!), 'own')
      .replaceAll(`e${index}-`, 'e')
      .replaceAll(/"time":"[^"]*"/g, '');
  const [crowded, alone] = [comparable(CROWDED, await view(CROWDED)), comparable(ALONE, await view(ALONE))];
  if (crowded !== alone) findings.push(`Verdicts that also concern others differ: ${difference(crowded, alone)}`);

  // Changes of other organizations must not change any byte, tag or feed position of this organization.
  const before = [...(await view(ALONE)), await objectsOf(TENANTS[ALONE]!)].map(seenIn);
  const [requester, name] = [TENANTS[ALONE]!, canary(TENANTS[ALONE]!)];
  for (let change = 0; change < CHANGES; change += 1)
    await send(
      target,
      Array.from({ length: ENTRIES }, (_, n) =>
        sent(
          'AssetStatusChanged',
          entry(idOf(ALONE, n), ...random.shuffled<[string, string]>([[requester, name], ...brandsOfOthers(random)])),
        ),
      ),
    );
  await send(target, [sentReport('last', { organization: requester }, 's1-last')]);
  await listed(requester, 'reports/last');
  const after = [...(await view(ALONE)), await objectsOf(TENANTS[ALONE]!)].map(seenIn);
  for (const [index, path] of [...VERDICTS, 'verdicts/ID', 'the objects of TAXII'].entries())
    if (before[index] !== after[index])
      findings.push(`${path} reveals that brands of others changed: ${difference(before[index]!, after[index]!)}`);

  findings.push(...canaries.checkAfterwards(target));
  return {
    workload: `${TENANTS.length} organizations, ${pairs} pairs of key and request, ${CHANGES * ENTRIES} changes of brands of others`,
    observed: `no canary of others in bodies, headers or logs, own canaries in ${canaries.ownCount} responses; data of others looks like data that does not exist`,
    findings,
  };
};

export const tenantIsolation: Scenario<Scale> = {
  name: 'S1',
  what: 'one organization requests the data of another',
  asvs: { '8.4.1': 'Other Authorization Considerations', '8.2.2': 'General Authorization Design' },
  full: { pairs: 24_000 },
  everyChange: { pairs: 150 },
  run: async (_, scale, sharedServices) => attackTenants(await sharedServices.service(), scale),
  guard: 'the key decides the organization, never the request; verdicts contain only the organization’s own brands',
  controlScale: { pairs: 200 },
  withoutGuard: async (context, scale) => attackTenants(await startNaiveService(context), scale),
  controlFinding: / saw .* in the response to /,
};
