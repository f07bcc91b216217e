import type { Outcome } from '../../faults/fault.js';
import { ask } from '../../rig/ask.js';
import { cloudEvent, type Sent, sent, sentReport, sentStatus, sentThreat, SOURCE } from '../../../test/support/upstream.js';
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
const canary = (organization: string): string => new Canaries('canary').of(organization);

/** What each organization has: a brand, also in a status of an asset of all, a threat of a type of its own, a group with an asset in it. */
const belongings = (organization: string): Sent[] => {
  const name = canary(organization);
  const asset = { type: name.toUpperCase(), content: `${name}.example` };
  return [
    sent('FeatureFlagChanged', { organization, flag: 'brands-metrics', enabled: true, updatedAt: AT }, `s1-f-${name}`),
    sent('BrandRegistered', { organization, brand: name, name, updatedAt: AT }, `s1-b-${name}`),
    sentThreat(name, { organization, asset }, `s1-t-${name}`),
    sentStatus(
      name,
      { asset: { type: 'URL', content: 'shared.example' }, brandReviews: [{ organization, brand: name }] },
      `s1-s-${name}`,
    ),
    sent('AssetGrouped', { organization, groupId: 1, asset, updatedAt: AT }, `s1-g-${name}`),
  ];
};

/** What an organization's own key may ask of an event about its threat. */
const statusOf = (organization: string): object => {
  const threatId = canary(organization);
  const event = { source: SOURCE, id: `s1-t-${threatId}`, type: 'ThreatStatusChanged' };
  return { events: [{ ...event, record: { organization, threatId } }] };
};

/** One that is rejected, with a word of its sender in the sample. */
const rejectedOf = (organization: string): object =>
  cloudEvent(
    sentReport(canary(organization), { organization, createdAt: canary(organization) }, `s1-r-${canary(organization)}`),
  );

const requestOf = (random: Random, other: string): readonly [string, string, object?] => {
  const theirs = canary(other);
  return random.pick([
    ['GET', '/v2/organization/metrics'],
    ['GET', `/v2/organization/metrics?organization=${other}&organizationSlug=${other}`],
    ['GET', `/v2/organization/metrics?brandSlug=${theirs}`],
    ['GET', `/v2/organization/metrics?startDate=${theirs}`],
    ['GET', `/v2/organization?organization=${other}`],
    ['GET', `/v2/organization/brands?organization=${other}`],
    ['GET', '/v2/organization/asset-groups'],
    ['GET', `/v2/organization/asset-groups?organization=${other}`],
    ['GET', `/v2/organization/asset-groups/1?organization=${other}`],
    ['GET', `/v2/organization/asset-groups/1/assets?organization=${other}`],
    ['GET', '/v2/organization/asset-groups/2/assets'],
    ['POST', '/v2/organization/asset-groups/1/assets', { contents: [`host-of.${other}.example`], organization: other }],
    ['POST', '/v2/organization/asset-groups/2/assets/remove', { contents: [`host-of.${other}.example`] }],
    ['PATCH', '/v2/organization/asset-groups/2', { name: theirs.slice(0, 4), organization: other }],
    ['DELETE', '/v2/organization/asset-groups/2'],
    ['GET', `/v2/organization/webhooks?organization=${other}`],
    ['GET', `/v2/events/rejected?organization=${other}`],
    ['GET', `/v2/events/parked?organization=${other}`],
    ['GET', `/v2/events/usage?organization=${other}`],
    ['POST', '/v2/events/status', statusOf(other)],
    ['POST', '/v2/asset/history', { content: 'shared.example', organization: other }],
    ['POST', '/v2/asset/check', { content: `host-of.${other}.example`, organization: other }],
  ] as const);
};

const headersFor = (random: Random, other: string): Record<string, string> =>
  random.chance(0.3) ? { 'x-organization': other, 'x-organization-slug': other, 'idempotency-key': `k-${other}` } : {};

const look = async (target: Target, { pairs }: Dose): Promise<Outcome> => {
  const { url, keys, senders, ingest } = target;
  for (const organization of TENANTS)
    await ask(`${url}/v2/organization/asset-groups`, {
      key: keys[organization],
      json: { name: canary(organization) },
    });
  await sendAll(target, ingest, TENANTS.flatMap(belongings).map(cloudEvent));
  for (const organization of TENANTS) await sendAll(target, senders[organization], [rejectedOf(organization)]);
  await eventually('what the organizations have is counted', async () => {
    const { body } = await ask(`${url}/v2/organization/metrics`, { key: keys[TENANTS.at(-1)!] });
    return body.metrics?.newThreats > 0;
  });
  const random = new Random(1);
  const findings: string[] = [];
  const canaries = new Canaries('canary');
  await inLanes(8, pairs, async () => {
    const [me, other] = [random.pick(TENANTS), random.pick(TENANTS)];
    const [method, path, given] = requestOf(random, other);
    const { headers, body } = await ask(url + path, {
      method,
      key: (path.startsWith('/v2/events') ? senders : keys)[me],
      headers: headersFor(random, other),
      json: given,
    });
    const all = `${JSON.stringify(headers)} ${JSON.stringify(body)}`;
    findings.push(...canaries.check(me, all, `${method} ${path}`));
  });
  const brand = `${url}/v2/organization/metrics?brandSlug=`;
  const group = `${url}/v2/organization/asset-groups/`;
  const key = keys[TENANTS[1]!];
  for (const [theirs, nobodys, method] of [
    [brand + canary(TENANTS[2]!), `${brand}nobodys`, 'GET'],
    [`${group}2`, `${group}999`, 'DELETE'],
    [`${group}2`, `${group}999`, 'GET'],
    [`${group}2/assets`, `${group}999/assets`, 'GET'],
  ] as const) {
    const [foreign, unknown] = [await ask(theirs, { method, key }), await ask(nobodys, { method, key })];
    if (foreign.status !== 404 || JSON.stringify(foreign.body) !== JSON.stringify(unknown.body))
      findings.push(`${method} ${theirs.slice(url.length)} is answered otherwise than for what does not exist`);
  }
  const status = async (organization: string): Promise<string> => {
    const question = { key: senders[TENANTS[1]!], json: statusOf(organization) };
    const answer = await ask(`${url}/v2/events/status`, question);
    return JSON.stringify(answer.body);
  };
  if ((await status(TENANTS[2]!)) !== (await status('tenant-nobody')))
    findings.push('The status of another’s event is not that of one that does not exist');
  findings.push(...canaries.checkAfterwards(target));
  return {
    dose: `${TENANTS.length} organizations, ${pairs} pairs of key and request`,
    seen: `0 of others in bodies, headers and logs, own words seen ${canaries.own} times`,
    findings,
  };
};

export const tenantIsolation: Attack<Dose> = {
  name: 'S1',
  what: 'one organization asks for what is another’s',
  asvs: { '8.4.1': 'Other Authorization Considerations', '8.2.2': 'General Authorization Design' },
  doses: { short: { pairs: 800 }, full: { pairs: 12_000 } },
  run: async ({ site }, dose) => look(await site.service(), dose),
  guard: 'the organization is that of the key, never of the request',
  without: async ({ scene }) => look(await openNaive(scene), { pairs: 200 }),
};
