import { TooManyRequests } from '../../src/errors.js';
import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { assetGroups } from '../../projections/asset-groups.js';
import { assetHash } from '../../src/assets/asset-key.js';
import { KEY_VERSION } from '../../src/assets/asset.js';
import { readContent } from '../../src/asset-groups/membership.js';
import { MembershipQueue } from '../../src/asset-groups/change-membership.js';
import { Checkpoints } from '../../src/read-models/checkpoints.js';
import { dayOf } from '../../src/events/instant.js';
import { ADD_INGEST_USAGE, readIngestUsage } from '../../src/quotas/daily-quota.js';
import { type ApiResponse } from '../support/call.js';
import { eventually, eventuallyPasses } from '../support/eventually.js';
import { sharedApp, sharedProjecting } from '../support/open-for-tests.js';
import { report as send, sent, stored } from '../support/upstream.js';

const app = sharedApp();
const projecting = sharedProjecting(app, [assetGroups]);
let ingest: string;
beforeAll(async () => void (ingest = await app.issueKey({ scopes: ['ingest'] })));

/** Creates a new organization with groups of these names, and returns functions that call the API with its key. */
const newCaller = async (groups: readonly string[] = ['A', 'B'], scopes = ['read', 'write'] as const) => {
  const organization = `org-${randomUUID().slice(0, 8)}`;
  const key = await app.issueKey({ organization, scopes });
  const call = (method: string, path: string, json?: unknown, after?: ApiResponse): Promise<ApiResponse> =>
    app.call(`/v2/organization/asset-groups${path}`, { method, key, json, after });
  for (const name of groups) await call('POST', '', { name });
  const results = async (path: string, contents: readonly unknown[]): Promise<string[]> => {
    const { status, body } = await call('POST', path, { contents });
    expect({ status, body }).toMatchObject({ status: 200 });
    return body.results.map(({ result }: { result: string }) => result);
  };
  return {
    organization,
    call,
    add: (id: number, ...contents: readonly unknown[]) => results(`/${id}/assets`, contents),
    remove: (id: number, ...contents: readonly unknown[]) => results(`/${id}/assets/remove`, contents),
    members: async (id: number, query = '', after?: ApiResponse): Promise<string[]> =>
      (await call('GET', `/${id}/assets${query}`, undefined, after)).body.assets
        .map(({ type, content }: { type: string; content: string }) => `${type} ${content}`)
        .sort(),
    counts: async (): Promise<number[]> =>
      (await call('GET', '')).body.groups.map(({ assetCount }: { assetCount: number }) => assetCount),
  };
};

/** Sends an upstream event that puts an asset into a group, or removes it from its group if `groupId` is absent. */
const report = async (
  organization: string,
  content: string,
  updatedAt: number,
  groupId?: number,
): Promise<ApiResponse> => {
  const data = { organization, asset: { type: 'URL', content }, updatedAt: new Date(updatedAt).toISOString() };
  const event = groupId === undefined ? sent('AssetUngrouped', data) : sent('AssetGrouped', { ...data, groupId });
  return send(app, ingest, [event]);
};

const missing = { code: 'NOT_FOUND', message: 'Asset group not found' };
const HOUR = 3_600_000;

describe('GET /v2/organization/asset-groups/{id}', () => {
  it('returns the same group as the list, immediately after each create, rename, membership change and delete', async () => {
    const { call, add } = await newCaller([]);
    await call('POST', '', { name: 'A' });
    const get = async () => {
      const { status, body } = await call('GET', '/1');
      return { status, body };
    };
    expect(await get()).toEqual({ status: 200, body: { id: 1, name: 'A', assetCount: 0 } });
    await call('PATCH', '/1', { name: 'Z' });
    await add(1, 'a.example', 'b.example');
    expect(await get()).toEqual({ status: 200, body: { id: 1, name: 'Z', assetCount: 2 } });
    await call('DELETE', '/1');
    expect(await get()).toEqual({ status: 404, body: missing });
  });
});

describe('POST /v2/organization/asset-groups/{id}/assets', () => {
  it('adds assets to the group, and reports the outcome of each asset', async () => {
    const { call, counts, members } = await newCaller();
    const contents = ['https://A.example/claim', '@Handle', 'chrome://settings', 'not an asset'];
    const { status, body } = await call('POST', '/1/assets', { contents });
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        results: [
          { result: 'added', asset: { type: 'URL', content: 'a.example' } },
          { result: 'added', asset: { type: 'TWITTER', content: 'handle' } },
          {
            result: 'error',
            reason: 'internal-scheme',
            asset: { type: 'URL', content: 'chrome://settings' },
            message: expect.stringMatching(/./),
          },
          { result: 'error', reason: 'parse-error', message: 'The content could not be parsed as an asset' },
        ],
        summary: { added: 2, moved: 0, unchanged: 0, errored: 2 },
      },
    });
    expect(await counts()).toEqual([2, 0]);
    expect(await members(1)).toEqual(['TWITTER handle', 'URL a.example']);
  });

  it('moves an asset from another group, and names that group', async () => {
    const { call, add, counts, members } = await newCaller();
    await add(1, 'a.example', 'b.example');
    const { body } = await call('POST', '/2/assets', { contents: ['a.example', 'c.example'] });
    expect(body.results).toMatchObject([{ result: 'moved', movedFrom: 1 }, { result: 'added' }]);
    expect(body.summary).toEqual({ added: 1, moved: 1, unchanged: 0, errored: 0 });
    expect(await counts()).toEqual([1, 2]);
    expect(await members(1)).toEqual(['URL b.example']);
  });

  it('changes nothing for repeated contents, in any spelling, within a request or across requests', async () => {
    const { organization, add, counts } = await newCaller();
    expect(await add(1, 'a.example', 'HTTPS://A.example./', 'hxxp://a[.]example')).toEqual([
      'added',
      'unchanged',
      'unchanged',
    ]);
    const head = await app.log.head();
    expect(await add(1, 'https://a.example/path', 'a.example')).toEqual(['unchanged', 'unchanged']);
    expect(await app.log.head()).toBe(head);
    await report(organization, 'https://user@a.example:80/', Date.now() + HOUR, 2);
    expect(await add(2, 'a.example')).toEqual(['unchanged']);
    expect(await counts()).toEqual([0, 1]);
  });

  it('adds an asset once if many requests add it concurrently', async () => {
    const { add, counts } = await newCaller();
    const results = (await Promise.all(Array.from({ length: 20 }, () => add(1, 'a.example')))).flat();
    expect(results.filter((result) => result === 'added')).toHaveLength(1);
    expect(results.filter((result) => result === 'unchanged')).toHaveLength(19);
    expect(await counts()).toEqual([1, 0]);
  });

  it('overrides an upstream event whose clock is ahead, and is overridden by later upstream events', async () => {
    const { organization, add, remove, members } = await newCaller();
    const ahead = Date.now() + 20 * HOUR;
    await report(organization, 'a.example', ahead, 2);
    expect(await add(1, 'a.example')).toEqual(['moved']);
    expect(await members(1)).toEqual(['URL a.example']);
    expect(await remove(1, 'a.example')).toEqual(['removed']);
    const after = await report(organization, 'a.example', ahead + HOUR, 2);
    expect(await members(2, '', after)).toEqual(['URL a.example']);
    expect(await add(2, 'a.example')).toEqual(['unchanged']);
  });

  it('stores a change like an upstream event, with the id of the API key', async () => {
    const { organization, add } = await newCaller();
    await add(1, 'a.example');
    const stream = `groupedAsset-${organization}:${assetHash({ type: 'URL', content: 'a.example' })}`;
    const written = await app.log.readStream(stream, 0n, 10);
    expect(written).toMatchObject([
      {
        type: 'AssetGrouped',
        data: { organization, groupId: 1, asset: { type: 'URL', content: 'a.example' }, updatedAt: expect.any(String) },
        metadata: expect.objectContaining({
          source: expect.any(String),
          keyId: expect.stringMatching(/^key_/),
          assetKey: { version: KEY_VERSION, hash: assetHash({ type: 'URL', content: 'a.example' }) },
        }),
      },
    ]);
  });

  it('reports an asset of a deleted group as added, not moved', async () => {
    const { call, add, counts } = await newCaller();
    await add(1, 'a.example');
    await call('DELETE', '/1');
    expect(await add(2, 'a.example')).toEqual(['added']);
    expect(await counts()).toEqual([1]);
  });

  it('accepts 1,000 contents of the maximum length of the asset check', async () => {
    const { call, counts } = await newCaller();
    const path = 'x'.repeat(4_000);
    const contents = Array.from({ length: 1_000 }, (_, n) => `https://sites.google.com/view/${n}/${path}`);
    const { body } = await call('POST', '/1/assets', { contents });
    expect(body.summary).toEqual({ added: 1_000, moved: 0, unchanged: 0, errored: 0 });
    expect(await counts()).toEqual([1_000, 0]);
  });

  it.each([
    ['absent', {}],
    ['empty', { contents: [] }],
    ['not a list', { contents: 'a.example' }],
    ['too many', { contents: Array.from({ length: 1_001 }, (_, n) => `${n}.example`) }],
  ])('returns 400 if the contents are %s', async (_, body) => {
    const { call } = await newCaller();
    for (const path of ['/1/assets', '/1/assets/remove'])
      expect(await call('POST', path, body)).toMatchObject({
        status: 400,
        body: { code: 'BAD_REQUEST', message: 'Contents must be an array of 1 to 1000 strings' },
      });
  });

  it('rejects only those contents that are invalid', async () => {
    const { call, members } = await newCaller();
    const wrong = [
      '',
      7,
      null,
      { a: 1 },
      'x'.repeat(4_097),
      '\ud800',
      'a\0b@x.example',
      '\ud800b@x.example',
      `https://sites.google.com/${'ü'.repeat(1_000)}`,
    ];
    const { body } = await call('POST', '/1/assets', { contents: [...wrong, 'a.example'] });
    expect(body.results.slice(0, -1).map(({ result }: { result: string }) => result)).toEqual(wrong.map(() => 'error'));
    expect(body.summary).toMatchObject({ added: 1, errored: wrong.length });
    expect(await members(1)).toEqual(['URL a.example']);
  });

  it('returns 503 while no projector runs, and completes when the request is repeated', async () => {
    const { call, add, counts } = await newCaller();
    await add(1, 'a.example');
    const model = app.app.get(MembershipQueue) as unknown as { projectionTimeoutMs: number };
    const { projectionTimeoutMs } = model;
    await projecting.stop();
    model.projectionTimeoutMs = 50;
    try {
      const { status, headers } = await call('POST', '/2/assets', { contents: ['a.example', 'b.example'] });
      // The read model was up to date when the request arrived, so the change was stored.
      expect({ status, again: headers.get('retry-after') }).toEqual({ status: 503, again: '1' });
      expect((await call('POST', '/2/assets', { contents: ['c.example'] })).status).toBe(503);
      expect(await counts()).toEqual([1, 0]);
    } finally {
      model.projectionTimeoutMs = projectionTimeoutMs;
      projecting.start();
    }
    expect(await add(2, 'a.example', 'b.example', 'c.example')).toEqual(['unchanged', 'unchanged', 'added']);
    expect(await counts()).toEqual([0, 3]);
  });

  it('counts against the daily quota of the organization, and stores nothing beyond the quota', async () => {
    const { organization, call, add, counts } = await newCaller();
    const today = dayOf(Date.now());
    const used = async () => (await readIngestUsage(app.pool, today, organization))[0]?.events;
    // The creation of groups A and B is charged as two events, which are counted within a second.
    await eventuallyPasses(async () => expect(await used()).toBe(2));
    await ADD_INGEST_USAGE.runEach(app.pool, [{ organization, events: app.config.ingestEventsPerDay - 5, bytes: 0 }], {
      day: today,
    });
    await add(1, 'a.example', 'b.example', 'b.example');
    await eventuallyPasses(async () => expect(await used()).toBe(app.config.ingestEventsPerDay - 1));
    const { status, body, headers } = await call('POST', '/1/assets', { contents: ['c.example', 'd.example'] });
    expect({ status, message: body.message }).toEqual({
      status: 429,
      message: `${organization} has used its quota of ${app.config.ingestEventsPerDay} events per day; it resets at midnight UTC`,
    });
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await add(1, 'a.example', 'c.example')).toEqual(['unchanged', 'added']);
    expect(await counts()).toEqual([3, 0]);
    await eventuallyPasses(async () => expect(await used()).toBe(app.config.ingestEventsPerDay));
  });

  it('returns 429 once too many changes of the organization are waiting, and completes the waiting changes', async () => {
    const { organization, counts } = await newCaller();
    const contents = Array.from({ length: 1_000 }, (_, n) => readContent(`${n % 20}.example`));
    const queue = app.app.get(MembershipQueue);
    const command = { action: 'add', organization, groupId: 1, contents } as const;
    const outcomes = await Promise.allSettled(Array.from({ length: 10 }, () => queue.execute(command)));
    expect(outcomes.map(({ status }) => status)).toEqual([...Array(9).fill('fulfilled'), 'rejected']);
    expect((outcomes.at(-1) as PromiseRejectedResult).reason).toBeInstanceOf(TooManyRequests);
    expect(await counts()).toEqual([20, 0]);
  });
});

describe('POST /v2/organization/asset-groups/{id}/assets/remove', () => {
  it('removes assets from the group, but not from other groups', async () => {
    const { call, add, counts } = await newCaller();
    await add(1, 'a.example', 'b.example');
    await add(2, 'c.example');
    const contents = ['A.example', 'a.example', 'c.example', 'never.example', '..'];
    const { status, body } = await call('POST', '/1/assets/remove', { contents });
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        results: [
          { result: 'removed', asset: { type: 'URL', content: 'a.example' } },
          { result: 'unchanged', asset: { type: 'URL', content: 'a.example' } },
          { result: 'unchanged', asset: { type: 'URL', content: 'c.example' } },
          { result: 'unchanged', asset: { type: 'URL', content: 'never.example' } },
          { result: 'error', reason: 'parse-error', message: expect.any(String) },
        ],
        summary: { removed: 1, unchanged: 3, errored: 1 },
      },
    });
    expect(await counts()).toEqual([1, 1]);
  });
});

describe('The routes of a group', () => {
  it('return 404 for a deleted group, a group of another organization and a non-numeric id', async () => {
    const [a, b] = [await newCaller(), await newCaller([])];
    await a.add(1, 'a.example');
    await a.call('DELETE', '/2');
    for (const [caller, id] of [
      [a, '2'],
      [a, '3'],
      [a, '0'],
      [a, 'one'],
      [a, '1e0'],
      [b, '1'],
    ] as const) {
      expect(await caller.call('GET', `/${id}`)).toMatchObject({ status: 404, body: missing });
      expect(await caller.call('GET', `/${id}/assets`)).toMatchObject({ status: 404, body: missing });
      for (const path of ['assets', 'assets/remove'])
        expect(await caller.call('POST', `/${id}/${path}`, { contents: ['a.example'] })).toMatchObject({
          status: 404,
          body: missing,
        });
    }
    expect(await a.members(1)).toEqual(['URL a.example']);
  });

  it('return 404 if the group is deleted before the membership change takes effect', async () => {
    const { call } = await newCaller();
    expect(await app.app.get(Checkpoints).reached(['asset-groups'], await app.log.head(), 10_000)).toBe(true);
    const head = await app.log.head();
    await projecting.stop();
    const filling = call('POST', '/1/assets', { contents: ['a.example'] });
    try {
      await eventually('the membership change is stored', async () => (await app.log.head()) > head);
      expect((await call('DELETE', '/1')).status).toBe(200);
    } finally {
      projecting.start();
    }
    expect(await filling).toMatchObject({ status: 404, body: missing });
  });

  it('require the scopes read and write', async () => {
    const reader = await newCaller([], ['read'] as never);
    const writer = await newCaller(['A'], ['write'] as never);
    for (const path of ['/1/assets', '/1/assets/remove'])
      expect((await reader.call('POST', path, { contents: ['a.example'] })).status).toBe(403);
    for (const path of ['/1', '/1/assets']) expect((await writer.call('GET', path)).status).toBe(403);
  });
});

describe('GET /v2/organization/asset-groups/{id}/assets', () => {
  it('returns each asset with the time since which it is in the group', async () => {
    const { organization, call, add } = await newCaller();
    const before = Date.now();
    await add(1, 'https://bücher.example/x');
    const { body } = await call('GET', '/1/assets');
    expect(body).toEqual({ assets: [{ type: 'URL', content: 'xn--bcher-kva.example', since: expect.any(String) }] });
    expect(Date.parse(body.assets[0].since)).toBeGreaterThanOrEqual(before);
    await report(organization, 'HTTPS://Up.example', Date.parse('2026-03-01T12:00:00Z'), 2);
    await add(1, 'other.example');
    expect((await call('GET', '/2/assets')).body.assets).toEqual([
      { type: 'URL', content: 'HTTPS://Up.example', since: '2026-03-01T12:00:00.000Z' },
    ]);
  });

  it('lists each asset that stays in the group exactly once, while other assets are added and removed', async () => {
    const { call, add, remove } = await newCaller();
    const staying = Array.from({ length: 40 }, (_, n) => `stays-${n}.example`);
    const leaving = Array.from({ length: 40 }, (_, n) => `leaves-${n}.example`);
    await add(1, ...staying, ...leaving);
    const seen: string[] = [];
    let cursor: string | undefined;
    for (let page = 0; page === 0 || cursor !== undefined; page += 1) {
      const { body } = await call('GET', `/1/assets?limit=9${cursor === undefined ? '' : `&cursor=${cursor}`}`);
      expect(body.assets.length).toBeLessThanOrEqual(9);
      seen.push(...body.assets.map(({ content }: { content: string }) => content));
      cursor = body.nextCursor;
      await remove(1, ...leaving.slice(4 * page, 4 * page + 4));
      await add(1, ...Array.from({ length: 4 }, (_, n) => `comes-${page}-${n}.example`));
    }
    expect(seen.filter((content) => content.startsWith('stays')).sort()).toEqual(staying.sort());
    expect(new Set(seen).size).toBe(seen.length);
  });

  it('returns 100 assets per page by default, and up to 1,000', async () => {
    const { call, add } = await newCaller();
    await add(1, ...Array.from({ length: 101 }, (_, n) => `${n}.example`));
    const lengthOf = async (query: string) => (await call('GET', `/1/assets${query}`)).body.assets.length;
    expect([await lengthOf(''), await lengthOf('?limit=1'), await lengthOf('?limit=1000')]).toEqual([100, 1, 101]);
    expect((await call('GET', '/1/assets?limit=101')).body).not.toHaveProperty('nextCursor');
  });

  it('limits a page to 256 KiB, and all pages together contain the whole group', async () => {
    const { organization, call } = await newCaller();
    const updatedAt = '2026-03-01T12:00:00Z';
    // The longest contents in JSON: many bytes, or many characters to escape.
    const contents = Array.from({ length: 150 }, (_, n) => `${n}${(n % 2 ? '\u{1f600}' : '\u0001').repeat(3_900)}`);
    const events = contents.map((content) =>
      stored(sent('AssetGrouped', { organization, groupId: 1, asset: { type: 'NOTE', content }, updatedAt })),
    );
    for (let from = 0; from < events.length; from += 50) await app.log.appendAll(events.slice(from, from + 50));
    await projecting.reached();
    const seen: string[] = [];
    let cursor = '';
    for (let page = 0; page === 0 || cursor !== ''; page += 1) {
      const { status, body } = await call('GET', `/1/assets?limit=1000${cursor && `&cursor=${cursor}`}`);
      expect(status).toBe(200);
      expect(body.assets.length).toBeGreaterThan(0);
      expect(Buffer.byteLength(JSON.stringify(body))).toBeLessThan(256 * 1_024 + 200);
      seen.push(...body.assets.map(({ content }: { content: string }) => content));
      cursor = body.nextCursor ?? '';
    }
    expect(seen.length).toBe(contents.length);
    expect(new Set(seen)).toEqual(new Set(contents));
  });

  it.each(['0', '1001', '-1', '1.5', '01', 'ten', '', '1&limit=2'])('returns 400 for the limit %j', async (limit) => {
    const { call } = await newCaller();
    expect(await call('GET', `/1/assets?limit=${limit}`)).toMatchObject({
      status: 400,
      body: { message: 'limit must be a whole number from 1 to 1000' },
    });
  });

  it('accepts only cursors that were issued for the same group', async () => {
    const [a, b] = [await newCaller(), await newCaller()];
    for (const { add } of [a, b])
      for (const id of [1, 2]) await add(id, ...Array.from({ length: 3 }, (_, n) => `${id}-${n}.example`));
    const { nextCursor } = (await a.call('GET', '/1/assets?limit=1')).body;
    const wrong = {
      status: 400,
      body: { code: 'BAD_REQUEST', message: 'cursor must be the nextCursor of an earlier page of this group' },
    };
    for (const cursor of ['', 'x', `${nextCursor}A`, `${nextCursor}%3D`, `${nextCursor}&cursor=${nextCursor}`])
      expect(await a.call('GET', `/1/assets?cursor=${cursor}`)).toMatchObject(wrong);
    expect(await a.call('GET', `/2/assets?cursor=${nextCursor}`)).toMatchObject(wrong);
    // A group of another organization may have the same id.
    expect(await b.call('GET', `/1/assets?cursor=${nextCursor}`)).toMatchObject(wrong);
  });

  it('reads from the log the contents that rows of an earlier version lack', async () => {
    const { organization, add, call } = await newCaller();
    await add(1, 'a.example', 'b.example', '@handle');
    const before = (await call('GET', '/1/assets')).body;
    await app.pool.query(`update read.grouped_assets set type = null, content = null where organization = $1`, [
      organization,
    ]);
    expect((await call('GET', '/1/assets')).body).toEqual(before);
  });
});
