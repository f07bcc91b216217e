import { execFile } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import createClient, { type Client } from 'openapi-fetch';
import type { paths } from './client/paths.js';
import { eventually } from '../support/eventually.js';
import { type Scene, setScene } from './scene.js';

/** What a client team has: the types that openapi-typescript makes of the reference, and openapi-fetch. */
const CLIENT = join(import.meta.dirname, 'client');

type Batch = Extract<
  paths['/events']['post']['requestBody']['content']['application/cloudevents-batch+json'],
  readonly unknown[]
>;

const attributes = { specversion: '1.0', source: 'https://upstream.example', time: '2026-03-02T12:00:00Z' } as const;
const organization = 'acme';
const asset = { type: 'URL', content: 'phishing.example' };
const createdAt = '2026-03-01T12:00:00Z';
const updatedAt = '2026-03-02T12:00:00Z';
const deletedAt = '2026-03-03T12:00:00Z';

/** One of each type, each about a record of its own. */
const EVENTS: Batch = [
  {
    ...attributes,
    id: '1',
    type: 'ReportFiled',
    data: { organization, reportId: 'r-1', brands: ['wallet'], createdAt, updatedAt },
  },
  { ...attributes, id: '2', type: 'ReportDeleted', data: { organization, reportId: 'r-2', deletedAt } },
  {
    ...attributes,
    id: '3',
    type: 'ThreatStatusChanged',
    data: { organization, threatId: 't-1', asset, status: 'BLOCKED', createdAt, updatedAt },
  },
  { ...attributes, id: '4', type: 'ThreatDeleted', data: { organization, threatId: 't-2', deletedAt } },
  {
    ...attributes,
    id: '5',
    type: 'TakedownFiled',
    data: { organization, takedownId: 'd-1', brand: 'wallet', asset, status: 'TODO', createdAt, updatedAt },
  },
  {
    ...attributes,
    id: '6',
    type: 'TakedownStatusChanged',
    data: { organization, takedownId: 'd-2', asset, status: 'COMPLETED', createdAt, updatedAt },
  },
  { ...attributes, id: '7', type: 'TakedownDeleted', data: { organization, takedownId: 'd-3', deletedAt } },
  {
    ...attributes,
    id: '8',
    type: 'AssetStatusChanged',
    data: { changeId: 'c-1', asset, status: 'BLOCKED', brandReviews: [{ organization, brand: 'wallet' }], createdAt },
  },
  { ...attributes, id: '9', type: 'AssetStatusChangeDeleted', data: { changeId: 'c-2', asset, deletedAt } },
  {
    ...attributes,
    id: '10',
    type: 'BrandRegistered',
    data: { organization, brand: 'wallet', name: 'Wallet', updatedAt },
  },
  { ...attributes, id: '11', type: 'BrandRemoved', data: { organization, brand: 'old', updatedAt } },
  {
    ...attributes,
    id: '12',
    type: 'FeatureFlagChanged',
    data: { organization, flag: 'brands-metrics', enabled: true, updatedAt },
  },
  { ...attributes, id: '13', type: 'AssetGrouped', data: { organization, groupId: 1, asset, updatedAt } },
  {
    ...attributes,
    id: '14',
    type: 'AssetUngrouped',
    data: { organization, asset: { ...asset, content: 'other.example' }, updatedAt },
  },
];

let scene: Scene;
let client: Client<paths>;
let upstream: Client<paths>;

beforeAll(async () => {
  scene = await setScene();
  const headers = async (scopes: Parameters<Scene['key']>[0]) => ({ 'X-API-KEY': await scene.key(scopes) });
  const baseUrl = `${scene.app.url}/v2`;
  client = createClient<paths>({ baseUrl, headers: await headers(['read', 'write']) });
  upstream = createClient<paths>({ baseUrl, headers: await headers(['ingest']) });
});
afterAll(() => scene?.close());

const send = (body: Batch) =>
  upstream.POST('/events', { body, headers: { 'content-type': 'application/cloudevents-batch+json' } });

describe('A client that is generated from the reference', () => {
  it('has the types that are checked in: `npm run record` writes them again', async () => {
    const file = join(tmpdir(), `threat-protection-paths-${process.pid}.ts`);
    await promisify(execFile)(process.execPath, [join(CLIENT, 'write.mjs'), file, process.env['OPENAPI_DOCUMENT']!]);
    const [now, then] = [file, join(CLIENT, 'paths.ts')].map((each) => readFileSync(each, 'utf8'));
    rmSync(file);
    expect(then).toBe(now);
  });

  it('is compiled under strict, as all of the project is', () => {
    const { compilerOptions, include } = JSON.parse(readFileSync('tsconfig.json', 'utf8')) as {
      compilerOptions: { strict: boolean };
      include: string[];
    };
    expect([compilerOptions.strict, include.includes('test')]).toEqual([true, true]);
  });

  it('sends each of the fourteen event types, and again without counting twice', async () => {
    expect(new Set(EVENTS.map(({ type }) => type)).size).toBe(14);
    expect((await send(EVENTS)).data).toEqual({ accepted: 14, duplicates: 0, rejected: [] });
    expect((await send(EVENTS)).data).toMatchObject({ accepted: 0, duplicates: 14 });
    await scene.caughtUp();
  });

  it('reads what became of a batch, item by item', async () => {
    const { data, error, response } = await send([{ ...EVENTS[0]!, time: 'yesterday' }]);
    expect([data, response.status, error?.code]).toEqual([undefined, 400, 'BAD_REQUEST']);
    expect(error?.rejected?.[0]?.issues[0]?.message).toMatch(/time/);
  });

  it('reads metrics, their course, a comparison and takedowns', async () => {
    const query = { startDate: '2026-03-01', endDate: '2026-03-31' };
    const metrics = await client.GET('/organization/metrics', { params: { query } });
    expect(metrics.data?.metrics.newThreats).toBe(1);
    expect(metrics.data?.blockedByDay).toEqual([{ date: '2026-03-01', count: 1 }]);
    expect(Date.parse(metrics.response.headers.get('x-as-of')!)).not.toBeNaN();
    const timeline = await client.GET('/organization/metrics/timeline', {
      params: { query: { ...query, interval: 'week' } },
    });
    // It could have been asked for as CSV.
    expect(typeof timeline.data === 'object' && timeline.data.points[0]?.byType).toEqual({ URL: 1 });
    const comparison = await client.GET('/organization/metrics/comparison', { params: { query } });
    expect(comparison.data?.difference.newThreats).toBe(1);
    const takedowns = await client.GET('/organization/takedowns/statistics', { params: { query } });
    expect(takedowns.data?.filed).toBe(2);
    const nobody = await client.GET('/organization/metrics', { params: { query: { brandSlug: 'nobody' } } });
    expect(nobody.error).toEqual({ code: 'NOT_FOUND', message: 'Brand not found' });
  });

  it('reads who it is and which brands there are', async () => {
    expect((await client.GET('/organization')).data).toMatchObject({ slug: organization, flags: ['brands-metrics'] });
    expect((await client.GET('/organization/brands')).data?.brands[0]?.slug).toBe('wallet');
  });

  it('checks one asset and many', async () => {
    const check = () => client.POST('/asset/check', { body: { content: 'https://phishing.example' } });
    await eventually('the API has read the status', async () => (await check()).data?.status === 'BLOCKED');
    const { data } = await check();
    expect([data?.status, data?.source, data?.sources[0]?.match]).toEqual(['BLOCKED', 'own', 'phishing.example']);
    const many = await client.POST('/asset/check/bulk', { body: { contents: ['phishing.example', 'example.org'] } });
    expect(many.data?.summary).toMatchObject({ blocked: 1, unknown: 1 });
    expect((await client.POST('/asset/check', { body: { content: '' } })).error?.code).toBe('BAD_REQUEST');
  });

  it('reads the history of an asset', async () => {
    const { data } = await client.POST('/asset/history', { body: { content: 'https://phishing.example' } });
    expect(data?.statuses).toMatchObject([{ status: 'BLOCKED', from: new Date(createdAt).toISOString() }]);
    expect(data?.lists.map(({ source }) => source)).toEqual(['house-list']);
  });

  it('creates, fills, lists, renames and deletes a group, and repeats a request safely', async () => {
    const create = () =>
      client.POST('/organization/asset-groups', {
        params: { header: { 'Idempotency-Key': 'once' } },
        body: { name: 'Landing pages' },
      });
    const { data: group, response } = await create();
    expect([group, response.headers.get('location')]).toEqual([
      { id: 1, name: 'Landing pages' },
      '/v2/organization/asset-groups/1',
    ]);
    expect((await create()).response.headers.get('idempotent-replayed')).toBe('true');
    const params = { path: { id: group!.id } };
    const added = await client.POST('/organization/asset-groups/{id}/assets', {
      params,
      body: { contents: ['a.example'] },
    });
    expect(added.data?.summary.added).toBe(1);
    const page = await client.GET('/organization/asset-groups/{id}/assets', { params });
    expect(page.data?.assets.map(({ content }) => content).sort()).toEqual(['a.example', 'phishing.example']);
    await client.POST('/organization/asset-groups/{id}/assets/remove', { params, body: { contents: ['a.example'] } });
    expect((await client.GET('/organization/asset-groups/{id}', { params })).data?.assetCount).toBe(1);
    await client.PATCH('/organization/asset-groups/{id}', { params, body: { name: 'Pages' } });
    expect((await client.GET('/organization/asset-groups')).data?.groups[0]?.name).toBe('Pages');
    expect((await client.DELETE('/organization/asset-groups/{id}', { params })).data).toEqual({
      success: true,
      id: 1,
      unassignedAssetCount: 1,
    });
  });

  it('is told of a key that is not good', async () => {
    const { error, response } = await createClient<paths>({ baseUrl: `${scene.app.url}/v2` }).GET('/organization');
    expect([error?.code, response.headers.get('www-authenticate')]).toEqual([
      'UNAUTHORIZED',
      expect.stringMatching(/^ApiKey /),
    ]);
  });

  it('reads the routes of operations, which lie outside /v2', async () => {
    const outside = createClient<paths>({ baseUrl: scene.app.url });
    expect((await outside.GET('/health/live')).data).toEqual({ status: 'live' });
    expect((await outside.GET('/health/ready')).data?.parts).toHaveProperty('log');
    expect((await outside.GET('/metrics', { parseAs: 'text' })).data).toContain('# HELP');
  });
});
