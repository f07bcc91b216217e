import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { PROJECTIONS } from '../../projections/index.js';
import { Projector } from '../../projections/projector.js';
import { startApp, type TestApp } from '../support/app.js';
import { Random } from '../support/random.js';
import { cloudEvent, type Sent, sent } from '../support/upstream.js';

/** OWASP API1, ASVS 8.4.1: whatever a key asks, nothing of another organization is in the answer. */

const ORGANIZATIONS = Array.from({ length: 20 }, (_, index) => `tenant-${index}`);
/** Found nowhere but in what belongs to the organization. */
const canary = (organization: string): string => `canary${organization.slice('tenant-'.length).padStart(3, '0')}x`;
const CANARY = /canary\d{3}x/gi;

let app: TestApp;
const keys = new Map<string, string>();
const stop = new AbortController();
let running: Promise<void>;

const call = async (organization: string, method: string, path: string, body?: unknown) => {
  const response = await fetch(`${app.url}${path}`, {
    method,
    headers: {
      'x-api-key': keys.get(organization)!,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, text, all: `${JSON.stringify([...response.headers])} ${text}` };
};

/** What each organization has: a brand, a group with an asset in it, threats of a type of its own. */
const belongings = (organization: string): Sent[] => {
  const name = canary(organization);
  const at = '2026-03-01T00:00:00Z';
  const asset = { type: name.toUpperCase(), content: `${name}.example` };
  return [
    sent('FeatureFlagChanged', { organization, flag: 'brands-metrics', enabled: true, updatedAt: at }),
    sent('BrandRegistered', { organization, brand: name, name, updatedAt: at }),
    sent('ThreatStatusChanged', {
      organization,
      threatId: name,
      asset,
      status: 'BLOCKED',
      createdAt: at,
      updatedAt: at,
    }),
    sent('AssetGrouped', { organization, groupId: 1, asset, updatedAt: at }),
  ];
};

beforeAll(async () => {
  app = await startApp();
  for (const organization of ORGANIZATIONS) {
    keys.set(organization, await app.issueKey({ organization }));
    expect(
      (await call(organization, 'POST', '/v2/organization/asset-groups', { name: canary(organization) })).status,
    ).toBe(201);
  }
  const response = await fetch(`${app.url}/v2/events`, {
    method: 'POST',
    headers: {
      'x-api-key': await app.issueKey({ scopes: ['ingest'] }),
      'content-type': 'application/cloudevents-batch+json',
    },
    body: JSON.stringify(ORGANIZATIONS.flatMap(belongings).map(cloudEvent)),
  });
  expect(response.status).toBe(200);
  running = new Projector(app.log, app.pool, PROJECTIONS, () => {}).run(stop.signal);
  while (!(await call('tenant-19', 'GET', '/v2/organization/metrics')).text.includes('"newThreats":1'))
    await new Promise((resolve) => setTimeout(resolve, 20));
});
afterAll(async () => {
  stop.abort();
  await running;
  await app.close();
});

it('shows no organization anything of another one, over 10,000 pairs of key and request', async () => {
  const random = new Random(1);
  const ask = async (): Promise<void> => {
    const me = random.pick(ORGANIZATIONS);
    const other = random.pick(ORGANIZATIONS);
    const theirs = canary(other);
    const [method, path, body] = random.pick<[string, string, unknown?]>([
      ['GET', '/v2/organization/metrics'],
      ['GET', `/v2/organization/metrics?organization=${other}&organizationSlug=${other}`],
      ['GET', `/v2/organization/metrics?brandSlug=${theirs}`],
      ['GET', '/v2/organization/asset-groups'],
      ['GET', `/v2/organization/asset-groups?organization=${other}`],
      ['PATCH', '/v2/organization/asset-groups/2', { name: theirs.slice(0, 4), organization: other }],
      ['DELETE', '/v2/organization/asset-groups/2'],
    ]);
    const { all } = await call(me, method, path, body);
    const seen = new Set((all.match(CANARY) ?? []).map((found) => found.toLowerCase()));
    expect([...seen].filter((found) => found !== canary(me))).toEqual([]);
  };
  const lane = async (): Promise<void> => {
    for (let round = 0; round < 1_250; round += 1) await ask();
  };
  await Promise.all(Array.from({ length: 8 }, lane));
}, 120_000);

it('answers for another organization’s brand and group to the letter as for one that does not exist', async () => {
  const path = '/v2/organization/metrics?brandSlug=';
  const foreign = await call('tenant-1', 'GET', path + canary('tenant-2'));
  expect(foreign).toMatchObject({ status: 404, text: (await call('tenant-1', 'GET', `${path}nobodys`)).text });
  const group = await call('tenant-1', 'DELETE', '/v2/organization/asset-groups/2');
  expect(group).toMatchObject({
    status: 404,
    text: (await call('tenant-1', 'DELETE', '/v2/organization/asset-groups/999')).text,
  });
});

it('names what belongs to the caller, so that the canaries above could have been seen', async () => {
  const groups = await call('tenant-3', 'GET', '/v2/organization/asset-groups');
  expect(JSON.parse(groups.text)).toEqual({ groups: [{ id: 1, name: canary('tenant-3'), assetCount: 1 }] });
  expect((await call('tenant-3', 'GET', '/v2/organization/metrics')).text).toContain(canary('tenant-3').toUpperCase());
});
