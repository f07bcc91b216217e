import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import createClient, { type Client } from 'openapi-fetch';
import { Webhook as Verifier } from 'standardwebhooks';
import { EXAMPLES } from '../../../src/events/cloud-event-schema.js';
import { UPSTREAM_TYPES } from '../../../src/events/event.js';
import type { components, paths } from './client/paths.js';

/** What a client team has: the types that openapi-typescript makes of the reference, and openapi-fetch. */
const CLIENT = join(import.meta.dirname, 'client');

export type Batch = Extract<
  paths['/v2/events']['post']['requestBody']['content']['application/cloudevents-batch+json'],
  readonly unknown[]
>;

/** An element of the feed, which is also what a webhook delivers. */
type FeedElement = components['schemas']['Feed'][number];

type WebhookChange = components['schemas']['WebhookChange'];

/** One event of each type. `examples.ts` is compiled below, which checks the types of the events. */
const EVENTS = EXAMPLES as unknown as Batch;
const TYPES = UPSTREAM_TYPES.length;

/** The running service, as far as a client knows it. */
interface Service {
  readonly app: { readonly url: string };
  key(scopes: readonly string[]): Promise<string>;
  caughtUp(): Promise<unknown>;
  startDelivering(): void;
  close(): Promise<void>;
}
// The compiler does not follow a computed name. Otherwise it would also compile the service, which takes a minute.
const SCENE = '../reference/scene.js';

let scene: Service;
let client: Client<paths>;
let upstream: Client<paths>;

beforeAll(async () => {
  const { setScene } = (await import(SCENE)) as { setScene: () => Promise<Service> };
  scene = await setScene();
  const headers = async (scopes: readonly string[]) => ({ 'X-API-KEY': await scene.key(scopes) });
  const baseUrl = scene.app.url;
  client = createClient<paths>({ baseUrl, headers: await headers(['read', 'write']) });
  upstream = createClient<paths>({ baseUrl, headers: await headers(['ingest']) });
});
afterAll(() => scene?.close());

const send = (body: Batch) =>
  upstream.POST('/v2/events', { body, headers: { 'content-type': 'application/cloudevents-batch+json' } });

describe('A client that is generated from the reference', () => {
  it('compiles in strict mode with the generated types, as do the examples of the reference', async () => {
    const run = promisify(execFile);
    await run(process.execPath, [join(CLIENT, 'write.mjs'), process.env['OPENAPI_DOCUMENT']!]);
    const compiler = join(import.meta.dirname, '../../../node_modules/typescript/bin/tsc');
    const compilerOutput = await run(process.execPath, [compiler, '-p', CLIENT]).then(
      () => '',
      ({ stdout }: { stdout: string }) => stdout,
    );
    expect(compilerOutput).toBe('');
  });

  it('sends each event type repeatedly without counting twice', async () => {
    expect(new Set(EVENTS.map(({ type }) => type)).size).toBe(TYPES);
    expect((await send(EVENTS)).data).toEqual({ accepted: TYPES, duplicates: 0, rejected: [] });
    expect((await send(EVENTS)).data).toMatchObject({ accepted: 0, duplicates: TYPES });
    await scene.caughtUp();
  });

  it('reads the result of each event of a batch', async () => {
    const { data, error, response } = await send([{ ...EVENTS[0]!, time: 'yesterday' }]);
    expect([data, response.status, error?.code]).toEqual([undefined, 400, 'BAD_REQUEST']);
    expect(error?.rejected?.[0]?.issues[0]?.message).toMatch(/time/);
  });

  it('reads metrics, a timeline, a comparison, false positives and takedown statistics', async () => {
    const query = { startDate: '2026-03-01', endDate: '2026-03-31' };
    const metrics = await client.GET('/v2/organization/metrics', { params: { query } });
    expect(metrics.data?.metrics.newThreats).toBe(1);
    expect(metrics.data?.blockedByDay).toEqual([{ date: '2026-03-01', count: 1 }]);
    expect(Date.parse(metrics.response.headers.get('x-as-of')!)).not.toBeNaN();
    const timeline = await client.GET('/v2/organization/metrics/timeline', {
      params: { query: { ...query, interval: 'week' } },
    });
    expect(timeline.data?.points[0]?.byType).toEqual({ URL: 1 });
    const table = await client.GET('/v2/organization/metrics/timeline.csv', {
      params: { query: { ...query, interval: 'week' } },
      parseAs: 'text',
    });
    expect(table.data?.split('\r\n')[0]).toMatch(/^start,end,reports,.*,byType\.URL$/);
    const comparison = await client.GET('/v2/organization/metrics/comparison', { params: { query } });
    expect(comparison.data?.difference.newThreats).toBe(1);
    const wrong = await client.GET('/v2/organization/metrics/false-positives', { params: { query } });
    expect(wrong.data?.disputes.filed).toBe(0);
    const takedowns = await client.GET('/v2/organization/takedowns/statistics', { params: { query } });
    expect(takedowns.data?.filed).toBe(1);
    const nobody = await client.GET('/v2/organization/metrics', { params: { query: { brandSlug: 'nobody' } } });
    expect(nobody.error).toEqual({ code: 'NOT_FOUND', message: 'Brand not found' });
  });

  it('reads its organization and the brands', async () => {
    expect((await client.GET('/v2/organization')).data).toMatchObject({ slug: 'acme', flags: ['brands-metrics'] });
    expect((await client.GET('/v2/organization/brands')).data?.brands[0]?.slug).toBe('metamask');
  });

  it('checks one asset, and several in bulk', async () => {
    // The answer to repeated events names where they are in the log.
    const token = (await send(EVENTS)).response.headers.get('consistency-token')!;
    const { data } = await client.POST('/v2/asset/check', {
      params: { header: { 'Consistency-Token': token } },
      headers: { Prefer: 'wait=10' },
      body: { content: 'https://metamask-login.example' },
    });
    expect([data?.status, data?.source, data?.sources[1]?.match]).toEqual(['BLOCKED', 'own', 'metamask-login.example']);
    const many = await client.POST('/v2/asset/check/bulk', {
      body: { contents: ['metamask-login.example', 'example.org'] },
    });
    expect(many.data?.summary).toMatchObject({ blocked: 1, unknown: 1 });
    expect((await client.POST('/v2/asset/check', { body: { content: '' } })).error?.code).toBe('BAD_REQUEST');
  });

  it('reads the history of an asset', async () => {
    const { data } = await client.POST('/v2/asset/history', { body: { content: 'https://metamask-login.example' } });
    expect(data?.statuses).toMatchObject([{ status: 'BLOCKED', from: '2026-03-01T12:01:00.000Z' }]);
    expect(data?.lists.map(({ source }) => source)).toEqual(['metamask']);
  });

  it('creates, fills, lists, renames and deletes a group, and repeats a request safely', async () => {
    const create = () =>
      client.POST('/v2/organization/asset-groups', {
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
    const added = await client.POST('/v2/organization/asset-groups/{id}/assets', {
      params,
      body: { contents: ['a.example'] },
    });
    expect(added.data?.summary.added).toBe(1);
    const page = await client.GET('/v2/organization/asset-groups/{id}/assets', { params });
    expect(page.data?.assets.map(({ content }) => content).sort()).toEqual(['a.example', 'metamask-login.example']);
    await client.POST('/v2/organization/asset-groups/{id}/assets/remove', {
      params,
      body: { contents: ['a.example'] },
    });
    expect((await client.GET('/v2/organization/asset-groups/{id}', { params })).data?.assetCount).toBe(1);
    await client.PATCH('/v2/organization/asset-groups/{id}', { params, body: { name: 'Pages' } });
    expect((await client.GET('/v2/organization/asset-groups')).data?.groups[0]?.name).toBe('Pages');
    expect((await client.DELETE('/v2/organization/asset-groups/{id}', { params })).data).toEqual({
      success: true,
      id: 1,
      unassignedAssetCount: 1,
    });
  });

  it('reads the records of each kind page by page', async () => {
    const threats = await client.GET('/v2/organization/threats', { params: { query: { limit: 1 } } });
    expect(threats.data?.items.map(({ asset, status }) => [asset.type, status])).toEqual([['URL', 'APPROVED']]);
    expect(threats.data?.nextCursor).toBeUndefined();
    expect((await client.GET('/v2/organization/reports')).data?.items.map(({ id }) => id)).toEqual(['report-2041']);
    expect((await client.GET('/v2/organization/takedowns')).data?.items[0]?.asset.type).toBe('URL');
    const { data: verdicts } = await client.GET('/v2/organization/verdicts');
    expect(verdicts?.items[0]?.asset.content).toBe('metamask-login.example');
  });

  it('follows the feed to its end, and tells changes from deletions', async () => {
    const seen: string[] = [];
    let lastEventId: string | undefined;
    for (;;) {
      const { data } = await client.GET('/v2/organization/feed', {
        params: { query: { limit: 2, ...(lastEventId !== undefined && { lastEventId }) } },
      });
      if (data!.length === 0) break;
      for (const element of data!) {
        lastEventId = element.id;
        if (element.method === 'DELETE') seen.push(`${element.subject} was deleted`);
        // The type of an element determines the type of its data.
        else if (element.type === 'threat-protection.threat') seen.push(`threat ${element.data!.asset.content}`);
        else seen.push(element.type);
      }
    }
    expect(seen).toEqual([
      'threat-protection.report',
      'report-1987 was deleted',
      'threat metamask-login.example',
      'threat-5498 was deleted',
      'threat-protection.takedown',
      'takedown-287 was deleted',
      'threat-protection.verdict',
    ]);
  });

  it('reads a state that includes an earlier write', async () => {
    const token = (await send(EVENTS)).response.headers.get('consistency-token')!;
    const params = { header: { 'Consistency-Token': token } };
    const { data, response } = await client.GET('/v2/organization/metrics', { params, headers: { Prefer: 'wait=10' } });
    expect([data?.metrics.newThreats, response.headers.get('preference-applied')]).toEqual([1, 'wait=10']);
    const wrong = await client.GET('/v2/organization/feed', { params: { header: { 'Consistency-Token': 'wrong' } } });
    expect(wrong.error?.code).toBe('BAD_REQUEST');
  });

  it('creates, changes, tests and deletes a webhook, and a change keeps the settings that it does not name', async () => {
    const url = 'https://acme.example/webhooks';
    const created = await client.POST('/v2/organization/webhooks', { body: { url, types: ['threat'] } });
    expect([created.data?.batch, created.data?.secret]).toEqual([1, expect.stringMatching(/^whsec_/)]);
    const params = { path: { id: created.data!.id } };
    const change = (body: WebhookChange) => client.PATCH('/v2/organization/webhooks/{id}', { params, body });
    expect((await change({ batch: 5 })).data?.batch).toBe(5);
    expect((await change({ types: null, description: 'Gateway' })).data).toMatchObject({
      batch: 5,
      description: 'Gateway',
    });
    const rotated = await client.POST('/v2/organization/webhooks/{id}/rotate', { params, body: {} });
    expect(rotated.data?.secret).not.toBe(created.data?.secret);
    expect((await client.POST('/v2/organization/webhooks/{id}/test', { params })).data?.status).toBe(204);
    expect((await client.GET('/v2/organization/webhooks')).data?.webhooks.map(({ id }) => id)).toEqual([
      params.path.id,
    ]);
    expect((await client.DELETE('/v2/organization/webhooks/{id}', { params })).data?.success).toBe(true);
    expect((await client.GET('/v2/organization/webhooks/{id}', { params })).error?.code).toBe('NOT_FOUND');
  });

  it('receives deliveries that the standardwebhooks library verifies, with the generated types of the feed', async () => {
    let secret = '';
    let isComplete!: () => void;
    const completed = new Promise<void>((resolve) => (isComplete = resolve));
    const received: string[] = [];
    const receiver = createServer((request, response) => {
      void text(request).then((body) => {
        const headers = request.headers as Record<string, string>;
        const element = new Verifier(secret).verify(body, headers) as FeedElement;
        if (element.method === 'DELETE') received.push(`${element.subject} was deleted`);
        else if (element.type === 'threat-protection.threat') received.push(`threat ${element.data!.asset.content}`);
        response.writeHead(204).end();
        if (received.length === 2) isComplete();
      });
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    try {
      const { port } = receiver.address() as { port: number };
      const { data } = await client.POST('/v2/organization/webhooks', {
        body: { url: `http://127.0.0.1:${port}/`, types: ['threat'], from: 'beginning' },
      });
      secret = data!.secret!;
      scene.startDelivering();
      await completed;
      expect(received).toEqual(['threat metamask-login.example', 'threat-5498 was deleted']);
      const params = { path: { id: data!.id } };
      expect((await client.DELETE('/v2/organization/webhooks/{id}', { params })).data?.success).toBe(true);
    } finally {
      receiver.closeAllConnections();
      receiver.close();
    }
  });

  it('gets a 401 for an invalid key', async () => {
    const { error, response } = await createClient<paths>({ baseUrl: scene.app.url }).GET('/v2/organization');
    expect([error?.code, response.headers.get('www-authenticate')]).toEqual([
      'UNAUTHORIZED',
      expect.stringMatching(/^ApiKey /),
    ]);
  });

  it('reads the operational routes outside /v2 with the same base URL', async () => {
    const outside = createClient<paths>({ baseUrl: scene.app.url });
    expect((await outside.GET('/health/live')).data).toEqual({ status: 'live' });
    expect((await outside.GET('/health/ready')).data?.parts).toHaveProperty('log');
    expect((await outside.GET('/metrics', { parseAs: 'text' })).data).toContain('# HELP');
  });
});
