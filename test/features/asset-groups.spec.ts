import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { assetGroups } from '../../projections/asset-groups.js';
import { rebuild } from '../../projections/engine/rebuild.js';
import { assetGroupsStream } from '../../src/events/streams.js';
import { createPool } from '../../src/postgres/pool.js';
import { startApp, type TestApp } from '../support/app.js';
import { sharedApp } from '../support/open-for-tests.js';
import { type ApiResponse } from '../support/call.js';
import { NO_LIMITS } from '../support/postgres.js';
import { projectToHead, startProjecting } from '../support/projecting.js';
import { sent, stored } from '../support/upstream.js';

const app = sharedApp();

/** Issues a key of a new organization, and returns functions that call the API with this key. */
const newCaller = async (scopes: readonly ('read' | 'write')[] = ['read', 'write'], service: TestApp = app) => {
  const organization = `org-${randomUUID().slice(0, 8)}`;
  const key = await service.issueKey({ organization, scopes });
  const call = (method: string, path = '', bodyOrJson?: unknown, headers = {}): Promise<ApiResponse> =>
    service.call(`/v2/organization/asset-groups${path}`, {
      method,
      key,
      headers,
      ...(typeof bodyOrJson === 'string' ? { body: bodyOrJson } : { json: bodyOrJson }),
    });
  return {
    organization,
    call,
    create: (name: unknown, idempotencyKey?: string) =>
      call('POST', '', { name }, idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
    rename: (id: unknown, name: unknown) => call('PATCH', `/${String(id)}`, { name }),
    remove: (id: unknown) => call('DELETE', `/${String(id)}`),
    list: async () => (await call('GET')).body as { groups: { id: number; name: string; assetCount: number }[] },
  };
};

const project = (): Promise<unknown> => projectToHead(app.log, app.pool, [assetGroups]);

let minute = 0;
/** Appends an event that puts an asset into a group, or removes the asset from its group if `groupId` is undefined. */
const group = async (organization: string, content: string, groupId: number | undefined): Promise<void> => {
  const updatedAt = new Date(1_790_000_000_000 + 60_000 * minute++).toISOString();
  const data = { organization, asset: { type: 'URL', content }, updatedAt };
  const event = groupId ? sent('AssetGrouped', { ...data, groupId }) : sent('AssetUngrouped', data);
  await app.log.appendAll([stored(event)]);
};

const conflict = { code: 'CONFLICT', message: 'A group with this name already exists' };
const missing = { code: 'NOT_FOUND', message: 'Asset group not found' };

describe('POST /v2/organization/asset-groups', () => {
  it('returns 201 with the id and the name, and ids start at 1', async () => {
    const { create } = await newCaller();
    expect(await create('Sites')).toMatchObject({ status: 201, body: { id: 1, name: 'Sites' } });
    expect(await create('Pages')).toMatchObject({ status: 201, body: { id: 2, name: 'Pages' } });
  });

  it('stores the name as sent, and compares names case-sensitively', async () => {
    const { create, list } = await newCaller();
    const names = [' Sites ', 'sites', 'SITES', 'Caf\u00e9', 'Cafe\u0301', '"\\\n\u2028<>', '\u{1f600}'];
    for (const name of names) expect((await create(name)).body.name).toBe(name);
    expect((await list()).groups.map(({ name }) => name)).toEqual(names);
    await project();
    expect((await list()).groups.map(({ name }) => name)).toEqual(names);
  });

  it.each([
    ['absent', {}],
    ['null', { name: null }],
    ['a number', { name: 1 }],
    ['a list', { name: ['a'] }],
    ['an object', { name: {} }],
  ])('returns 400 with "Group name is required" if the name is %s', async (_, body) => {
    const { call } = await newCaller();
    const { status, body: answer } = await call('POST', '', body);
    expect({ status, code: answer.code, message: answer.message }).toEqual({
      status: 400,
      code: 'BAD_REQUEST',
      message: 'Group name is required',
    });
  });

  it('measures the length of a name in code points', async () => {
    const { create } = await newCaller();
    const message = 'Group name must be between 1 and 255 characters';
    expect(await create('')).toMatchObject({ status: 400, body: { code: 'BAD_REQUEST', message } });
    expect(await create('a'.repeat(256))).toMatchObject({ status: 400, body: { message } });
    expect(await create('\u{1f600}'.repeat(256))).toMatchObject({ status: 400, body: { message } });
    expect((await create('a'.repeat(255))).status).toBe(201);
    expect((await create('\u{1f600}'.repeat(255))).status).toBe(201);
  });

  it('rejects U+0000 and a lone surrogate', async () => {
    const { call } = await newCaller();
    for (const name of ['a\\u0000b', '\\ud800', 'a\\udc00'])
      expect(await call('POST', '', `{"name":"${name}"}`)).toMatchObject({
        status: 400,
        body: { message: 'Group name must not contain U+0000 or lone surrogates' },
      });
  });

  it('returns 409 while the name is in use', async () => {
    const { create, rename, remove } = await newCaller();
    await create('Sites');
    expect(await create('Sites')).toMatchObject({ status: 409, body: conflict });
    await rename(1, 'Pages');
    expect(await create('Pages')).toMatchObject({ status: 409, body: conflict });
    expect(await create('Sites')).toMatchObject({ status: 201, body: { id: 2 } });
    await remove(1);
    expect(await create('Pages')).toMatchObject({ status: 201, body: { id: 3 } });
  });

  it('accepts and ignores unknown fields', async () => {
    const { call } = await newCaller();
    expect(await call('POST', '', { name: 'Sites', id: 7, colour: 'red' })).toMatchObject({
      status: 201,
      body: { id: 1, name: 'Sites' },
    });
  });

  it('requires a key with the scope write', async () => {
    const { create } = await newCaller(['read']);
    expect(await create('Sites')).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
  });
});

describe('An Idempotency-Key', () => {
  // These specs run twice: the service decides from the tail of the stream, and then from the read model.
  describe.each([
    ['with the projector stopped', async () => {}],
    ['with the projector caught up', project],
  ])('%s', (_, catchUp) => {
    it('repeats the first response to the same body, even after a rename and a deletion', async () => {
      const { create, call, rename, remove, list } = await newCaller();
      const key = randomUUID();
      expect(await create('Sites', key)).toMatchObject({ status: 201, body: { id: 1, name: 'Sites' } });
      await catchUp();
      expect(await create('Sites', key)).toMatchObject({ status: 201, body: { id: 1, name: 'Sites' } });
      expect((await create('Sites', key)).headers.get('location')).toBe('/v2/organization/asset-groups/1');
      const sameBody = await call('POST', '', '{ "name" : "Sites", "extra": 1 }', { 'idempotency-key': key });
      expect(sameBody).toMatchObject({ status: 201, body: { id: 1, name: 'Sites' } });
      await rename(1, 'Pages');
      await catchUp();
      expect(await create('Sites', key)).toMatchObject({ status: 201, body: { id: 1, name: 'Sites' } });
      await remove(1);
      await catchUp();
      expect(await create('Sites', key)).toMatchObject({ status: 201, body: { id: 1, name: 'Sites' } });
      expect(await list()).toEqual({ groups: [] });
    });

    it('marks only repeated responses with Idempotent-Replayed', async () => {
      const { create } = await newCaller();
      const replayed = async (name: string, key?: string): Promise<[number, string | null]> => {
        const { status, headers } = await create(name, key);
        return [status, headers.get('idempotent-replayed')];
      };
      expect(await replayed('Sites', 'k')).toEqual([201, null]);
      expect(await replayed('Sites', 'l')).toEqual([409, null]);
      await catchUp();
      expect(await replayed('Sites', 'k')).toEqual([201, 'true']);
      expect(await replayed('Sites', 'l')).toEqual([409, 'true']);
      expect(await replayed('Sites')).toEqual([409, null]);
      expect(await replayed('Pages', 'k')).toEqual([422, null]);
    });

    it('repeats a 409 even after the name has become free', async () => {
      const { create, remove } = await newCaller();
      const key = randomUUID();
      await create('Sites');
      expect(await create('Sites', key)).toMatchObject({ status: 409, body: conflict });
      await remove(1);
      await catchUp();
      expect(await create('Sites', key)).toMatchObject({ status: 409, body: conflict });
      expect(await create('Sites')).toMatchObject({ status: 201, body: { id: 2 } });
    });

    it('returns 422 for a different body', async () => {
      const { create, list } = await newCaller();
      await create('Sites', 'k');
      await catchUp();
      expect(await create('Pages', 'k')).toMatchObject({
        status: 422,
        body: { code: 'UNPROCESSABLE_CONTENT', message: 'This Idempotency-Key was used with another body' },
      });
      expect((await list()).groups).toHaveLength(1);
    });
  });

  it('is scoped to its organization', async () => {
    const [a, b] = [await newCaller(), await newCaller()];
    expect((await a.create('Sites', 'k')).status).toBe(201);
    expect((await b.create('Pages', 'k')).status).toBe(201);
  });

  it('creates one group for many concurrent requests, which all get the same response', async () => {
    const { create, list } = await newCaller();
    const answers = await Promise.all(Array.from({ length: 50 }, () => create('Sites', 'k')));
    expect(new Set(answers.map(({ status, body }) => JSON.stringify({ status, body })))).toEqual(
      new Set(['{"status":201,"body":{"id":1,"name":"Sites"}}']),
    );
    expect((await list()).groups).toHaveLength(1);
  });

  it('is stored only as a hash', async () => {
    const { create, organization } = await newCaller();
    await create('Sites', 'canary-7f3a');
    const stored = await app.log.readStream(assetGroupsStream(organization), 0n, 10);
    expect(JSON.stringify(stored.map(({ data, metadata }) => [data, metadata]))).not.toContain('canary-7f3a');
    expect(stored[0]!.metadata).toHaveProperty('idempotencyKeyHash');
  });

  it.each(['', 'a'.repeat(256), 'caf\u00e9', 'tab\there'])('returns 400 if it is %j', async (key) => {
    const { create } = await newCaller();
    expect(await create('Sites', key)).toMatchObject({
      status: 400,
      body: { code: 'BAD_REQUEST', message: 'Idempotency-Key must be 1 to 255 printable characters' },
    });
  });
});

describe('GET /v2/organization/asset-groups', () => {
  it('returns an empty list before the first group', async () => {
    const { call } = await newCaller();
    const { status, body, headers } = await call('GET');
    expect({ status, body, type: headers.get('content-type') }).toEqual({
      status: 200,
      body: { groups: [] },
      type: 'application/json; charset=utf-8',
    });
  });

  it('includes each group as soon as its create has returned, whether the projector is stopped, behind or caught up', async () => {
    const { create, list } = await newCaller();
    const expected: unknown[] = [];
    for (let n = 1; n <= 60; n += 1) {
      expect((await create(`Group ${n}`)).status).toBe(201);
      expected.push({ id: n, name: `Group ${n}`, assetCount: 0 });
      expect(await list()).toEqual({ groups: expected });
      if (n % 20 === 0) await project();
    }
  });

  it('reflects renames and deletions, ordered by id', async () => {
    const { create, rename, remove, list } = await newCaller();
    for (const name of ['A', 'B', 'C']) await create(name);
    const expected = [
      { id: 1, name: 'Z', assetCount: 0 },
      { id: 3, name: 'C', assetCount: 0 },
    ];
    await rename(1, 'Z');
    await remove(2);
    expect(await list()).toEqual({ groups: expected });
    await project();
    expect(await list()).toEqual({ groups: expected });
  });

  it('counts the reported assets', async () => {
    const { create, list, organization } = await newCaller();
    const counts = async () => (await list()).groups.map(({ assetCount }) => assetCount);
    await group(organization, 'early.example', 2);
    await project();
    await create('A');
    await create('B');
    expect(await counts()).toEqual([0, 1]);
    await group(organization, 'a.example', 1);
    await group(organization, 'b.example', 1);
    await project();
    expect(await counts()).toEqual([2, 1]);
    await group(organization, 'a.example', 2);
    await group(organization, 'b.example', undefined);
    await project();
    expect(await counts()).toEqual([0, 2]);
  });

  it('is complete while its read model is rebuilt and swapped', async () => {
    const { create, list, organization } = await newCaller();
    await create('A');
    await group(organization, 'a.example', 1);
    await project();
    let isDone = false;
    const projecting = startProjecting(app.log, app.pool, [assetGroups]);
    const direct = createPool(app.config.databaseDirectUrl ?? app.config.databaseUrl!, () => {}, NO_LIMITS);
    const rebuilding = (async () => {
      for (let n = 0; n < 3; n += 1) await rebuild({ pool: direct, log: app.log }, [assetGroups]);
    })().finally(() => (isDone = true));
    const expected = [{ id: 1, name: 'A', assetCount: 1 }];
    while (!isDone) {
      const { status, body } = await create(`Group ${expected.length + 1}`);
      expect({ status, id: body.id }).toEqual({ status: 201, id: expected.length + 1 });
      expected.push({ id: body.id, name: body.name, assetCount: 0 });
      expect(await list()).toEqual({ groups: expected });
    }
    await rebuilding;
    await projecting.reached();
    await projecting.stop();
    expect(await list()).toEqual({ groups: expected });
    await direct.end();
  });

  it('returns only groups of the own organization', async () => {
    const [a, b] = [await newCaller(), await newCaller()];
    await a.create('Sites');
    expect(await b.list()).toEqual({ groups: [] });
  });

  it('requires a key with the scope read', async () => {
    const { call } = await newCaller(['write']);
    expect((await call('GET')).status).toBe(403);
  });
});

describe('PATCH /v2/organization/asset-groups/{id}', () => {
  it('renames the group, and releases the old name immediately', async () => {
    const { create, rename } = await newCaller();
    await create('A');
    expect(await rename(1, 'B')).toMatchObject({ status: 200, body: { id: 1, name: 'B' } });
    expect(await create('A')).toMatchObject({ status: 201, body: { id: 2 } });
  });

  it('accepts the current name of the group', async () => {
    const { create, rename } = await newCaller();
    await create('A');
    expect(await rename(1, 'A')).toMatchObject({ status: 200, body: { id: 1, name: 'A' } });
  });

  it('returns 409 if another group has the name', async () => {
    const { create, rename } = await newCaller();
    await create('A');
    await create('B');
    expect(await rename(2, 'A')).toMatchObject({ status: 409, body: conflict });
    await project();
    expect(await rename(2, 'A')).toMatchObject({ status: 409, body: conflict });
  });

  it('validates the name like a create', async () => {
    const { create, rename, call } = await newCaller();
    await create('A');
    expect(await call('PATCH', '/1', {})).toMatchObject({ status: 400, body: { message: 'Group name is required' } });
    expect(await rename(1, '')).toMatchObject({
      status: 400,
      body: { message: 'Group name must be between 1 and 255 characters' },
    });
  });

  it.each([2, 0, -1, 'one', '1e0', '01', '1.0', ' 1', '99999999999999999999', '%00'])(
    'returns 404 for the group id %j',
    async (id) => {
      const { create, rename, remove } = await newCaller();
      await create('A');
      expect(await rename(id, 'B')).toMatchObject({ status: 404, body: missing });
      expect(await remove(id)).toMatchObject({ status: 404, body: missing });
    },
  );

  it('returns 404 for a group of another organization', async () => {
    const [a, b] = [await newCaller(), await newCaller()];
    await a.create('A');
    expect(await b.rename(1, 'B')).toMatchObject({ status: 404, body: missing });
    expect(await b.remove(1)).toMatchObject({ status: 404, body: missing });
    expect((await a.list()).groups).toEqual([{ id: 1, name: 'A', assetCount: 0 }]);
  });

  it('requires a key with the scope write', async () => {
    const { rename, remove } = await newCaller(['read']);
    expect((await rename(1, 'A')).status).toBe(403);
    expect((await remove(1)).status).toBe(403);
  });
});

describe('DELETE /v2/organization/asset-groups/{id}', () => {
  it('returns the number of unassigned assets, and 404 for a second deletion', async () => {
    const { create, remove, list, organization } = await newCaller();
    await create('A');
    await create('B');
    await group(organization, 'a.example', 1);
    await group(organization, 'b.example', 1);
    await project();
    expect(await remove(1)).toMatchObject({
      status: 200,
      body: { success: true, id: 1, unassignedAssetCount: 2 },
    });
    expect(await remove(1)).toMatchObject({ status: 404, body: missing });
    await project();
    expect(await remove(1)).toMatchObject({ status: 404, body: missing });
    expect((await list()).groups).toEqual([{ id: 2, name: 'B', assetCount: 0 }]);
  });

  it('never reuses the id, so that a late event cannot affect another group', async () => {
    const { create, remove, list, organization } = await newCaller();
    await create('A');
    await remove(1);
    await project();
    expect(await create('A')).toMatchObject({ status: 201, body: { id: 2 } });
    await group(organization, 'a.example', 1);
    await project();
    expect((await list()).groups).toEqual([{ id: 2, name: 'A', assetCount: 0 }]);
  });

  it('accepts a JSON content type without a body', async () => {
    const { create, call } = await newCaller();
    await create('A');
    expect((await call('DELETE', '/1', undefined, { 'content-type': 'application/json' })).status).toBe(200);
  });
});

describe('The daily quota of an organization for groups', () => {
  let limited: TestApp;
  beforeAll(async () => {
    limited = await startApp({ env: { INGEST_EVENTS_PER_DAY: '5' } });
  });
  afterAll(async () => {
    await limited.close();
  });

  it('is charged for creates, renames and deletions, and nothing is stored beyond the quota', async () => {
    const { organization, create, rename, remove, list } = await newCaller(['read', 'write'], limited);
    expect((await create('A')).status).toBe(201);
    expect((await create('B')).status).toBe(201);
    expect((await rename(1, 'C')).status).toBe(200);
    // Renaming to the same name stores no event and is not charged.
    expect([(await rename(1, 'C')).status, (await create('C')).status, (await remove(9)).status]).toEqual([
      200, 409, 404,
    ]);
    expect((await remove(2)).status).toBe(200);
    expect((await create('D', 'k')).status).toBe(201);
    const used = {
      code: 'TOO_MANY_REQUESTS',
      message: `${organization} has used its quota of 5 events per day; it resets at midnight UTC`,
    };
    const refused = [await create('E'), await create('E', 'l'), await rename(1, 'F'), await remove(1)];
    for (const { status, body, headers } of refused) {
      expect({ status, body }).toEqual({ status: 429, body: used });
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    }
    // A repeated request gets the first response.
    expect((await create('D', 'k')).status).toBe(201);
    expect((await list()).groups.map(({ name }) => name)).toEqual(['C', 'D']);
    expect(await limited.log.readStream(assetGroupsStream(organization), 0n, 10)).toHaveLength(5);
  });

  it('is charged for rejected creates with an Idempotency-Key, because they are stored', async () => {
    const { organization, create } = await newCaller(['read', 'write'], limited);
    const statuses = [];
    for (let n = 0; n < 8; n += 1) statuses.push((await create('A', `key-${n}`)).status);
    expect(statuses).toEqual([201, 409, 409, 409, 409, 429, 429, 429]);
    expect(await limited.log.readStream(assetGroupsStream(organization), 0n, 10)).toHaveLength(5);
  });

  it('is separate for each organization', async () => {
    const [spent, other] = [await newCaller(['write'], limited), await newCaller(['write'], limited)];
    const statuses = await Promise.all(Array.from({ length: 9 }, async (_, n) => (await spent.create(`${n}`)).status));
    expect(statuses.filter((status) => status === 201)).toHaveLength(5);
    expect(statuses.filter((status) => status === 429)).toHaveLength(4);
    expect((await other.create('A')).status).toBe(201);
  });
});
