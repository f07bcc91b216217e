import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { FastifyReply } from 'fastify';
import { WaitingRequests } from '../../src/flow/concurrency-limit.js';
import { ConsistencyTokens } from '../../src/http/consistency.js';
import { SealedBlocks } from '../../src/http/sealed-blocks.js';
import { Checkpoints } from '../../src/read-models/checkpoints.js';
import { CheckpointPool, MetricsPool, RecordsPool, WatchPool } from '../../src/read-models/pools.js';
import { startApp, type TestApp } from '../support/app.js';
import type { ApiResponse, CallOptions } from '../support/call.js';
import { eventually } from '../support/eventually.js';
import { type Projecting, projectToHead, startProjecting } from '../support/projecting.js';
import {
  ABOUT_THE_PAST,
  keyedOperations,
  READS,
  type Request,
  REQUESTS,
  SENDS,
  TAXII_REQUESTS,
  TAXII_WITHOUT,
  WRITES,
} from '../support/requests.js';
import { cloudEvent, EXAMPLES, type Sent, sent, SOURCE, stored } from '../support/upstream.js';

const TOKEN_FORMAT = /^[A-Za-z0-9._-]{1,128}$/;
const GROUPS = '/v2/organization/asset-groups';
const WEBHOOKS = '/v2/organization/webhooks';
const NOT_REACHED = {
  code: 'SERVICE_UNAVAILABLE',
  message: 'The service has not reached the state of this Consistency-Token yet; try again',
};
const READ_AGAIN = {
  code: 'GONE',
  message:
    'Consistency-Token is from another log, or from a state that was lost; repeat the request without Consistency-Token',
};
const MALFORMED = 'Consistency-Token must be the Consistency-Token of an earlier response';
const AT = '2026-03-01T12:00:00.000Z';
const SCOPES = ['read', 'write', 'ingest'] as const;
const BATCH = { 'content-type': 'application/cloudevents-batch+json' };

const folder = mkdtempSync(join(tmpdir(), 'consistency-'));
const keyFile = join(folder, 'keys');
writeFileSync(keyFile, `${Buffer.alloc(32, 7).toString('base64')}\n`);

let app: TestApp;
let tokens: ConsistencyTokens;
let projecting: Projecting | undefined;

const tokenOf = ({ headers }: ApiResponse): string => headers.get('consistency-token') ?? '';
const positionIn = (answer: ApiResponse): Promise<bigint> => tokens.read(tokenOf(answer));

/** Returns a token for a position of this log, or of the log of `issuer`. */
const tokenAt = async (position: bigint, issuer = tokens): Promise<string> => {
  let written = '';
  const reply = { request: { minPosition: null }, header: (_: string, value: string) => (written = value) };
  await issuer.add(reply as unknown as FastifyReply, position);
  return written;
};

const threatOf = (organization: string, threatId: string): Sent =>
  sent('ThreatStatusChanged', {
    organization,
    threatId,
    asset: { type: 'URL', content: `${threatId}.example` },
    status: 'BLOCKED',
    createdAt: AT,
    updatedAt: AT,
  });

/** Runs the projector until the read models contain all events. */
const project = async (): Promise<void> => void (await projectToHead(app.log, app.pool));
const pause = async (): Promise<void> => {
  await projecting?.stop();
  projecting = undefined;
};
const resume = (): Projecting => (projecting ??= startProjecting(app.log, app.pool));

/** Creates a new organization and a key with all scopes. */
const newCaller = async () => {
  const organization = `org-${randomUUID().slice(0, 8)}`;
  const key = await app.issueKey({ organization, scopes: SCOPES });
  const call = (path: string, options: CallOptions = {}): Promise<ApiResponse> => app.call(path, { key, ...options });
  return {
    organization,
    key,
    call,
    /** Calls the API with a Consistency-Token. */
    callWithToken: (token: string, { path, headers, ...options }: Request, prefer?: string): Promise<ApiResponse> =>
      call(path, {
        ...options,
        headers: { ...headers, 'consistency-token': token, ...(prefer !== undefined && { prefer }) },
      }),
    send: (...events: readonly object[]): Promise<ApiResponse> => call('/v2/events', { json: events, headers: BATCH }),
  };
};
type Caller = Awaited<ReturnType<typeof newCaller>>;

/** Creates a caller with a record of each kind, a group and a webhook, so that every operation can succeed. */
const newOwner = async (): Promise<Caller & { request: (operation: string) => Request }> => {
  const caller = await newCaller();
  const { organization, call, send } = caller;
  const shared = { organization, createdAt: AT, updatedAt: AT };
  const brand = `brand-${organization}`;
  await send(
    cloudEvent(sent('BrandRegistered', { organization, brand, updatedAt: AT })),
    cloudEvent(sent('ReportFiled', { ...shared, reportId: 'record-1' })),
    cloudEvent(threatOf(organization, 'record-1')),
    cloudEvent(sent('TakedownFiled', { ...EXAMPLES.TakedownFiled, ...shared, takedownId: 'record-1' })),
  );
  const change = { ...EXAMPLES.AssetStatusChanged, changeId: `change-${organization}`, createdAt: AT, updatedAt: AT };
  const blocked = ['disputed', 'undisputed'].map((name) => `${name}.${organization}.example`);
  // Only a key without an organization may send events of all organizations.
  const sentStatuses = await app.call('/v2/events', {
    key: await app.issueKey({ scopes: ['ingest'] }),
    json: [
      cloudEvent(sent('AssetStatusChanged', { ...change, brandReviews: [{ organization, brand }] })),
      ...blocked.map((content) =>
        cloudEvent(
          sent('AssetStatusChanged', {
            changeId: content,
            asset: { type: 'URL', content },
            status: 'BLOCKED',
            brandReviews: [],
            createdAt: AT,
          }),
        ),
      ),
    ],
    headers: BATCH,
  });
  expect(sentStatuses.body).toMatchObject({ accepted: 3, rejected: [] });
  await (projecting === undefined ? project() : projecting.reached());
  const file = { path: '/v2/asset/disputes', json: { content: blocked[0] } };
  const filed = await caller.callWithToken(tokenOf(sentStatuses), file);
  expect([filed.status, filed.body]).toEqual([201, filed.body]);
  const dispute = filed.body.id as string;
  const group = String((await call(GROUPS, { json: { name: 'First' } })).body.id);
  const webhook = (await call(WEBHOOKS, { json: { url: 'https://acme.example/hooks' } })).body.id as string;
  return {
    ...caller,
    request: (operation) => {
      const { path, ...rest } = REQUESTS[operation]!(1, organization);
      const ownPath = path
        .replace(/wh_0+1/, webhook)
        .replace(/asset-groups\/2/, `asset-groups/${group}`)
        .replace('verdicts/record-1', `verdicts/change-${organization}`)
        .replace('disputes/record-1', `disputes/${dispute}`);
      return { path: ownPath, ...rest, ...(operation === 'fileDispute' && { json: { content: blocked[1] } }) };
    },
  };
};

beforeAll(async () => {
  app = await startApp({ env: { WEBHOOK_MASTER_KEY_FILE: keyFile } });
  tokens = app.app.get(ConsistencyTokens);
  resume();
  const { call } = await newCaller();
  await eventually('the lists are filled', async () => (await call('/v2/organization/reports')).status === 200);
  await pause();
});
afterAll(async () => {
  await pause();
  await app.close();
  rmSync(folder, { recursive: true });
});

describe('The Consistency-Token of a write', () => {
  /** A write returns the response, and the position that the token of the response must name. */
  type Write = (caller: Caller) => Promise<{ readonly answer: ApiResponse; readonly position: bigint }>;
  const atHead = async (answer: ApiResponse) => ({ answer, position: await app.log.head() });
  const newGroupPath = async ({ call }: Caller): Promise<string> =>
    `${GROUPS}/${(await call(GROUPS, { json: { name: 'First' } })).body.id}`;
  const webhook = async ({ call }: Caller): Promise<string> =>
    `${WEBHOOKS}/${(await call(WEBHOOKS, { json: { url: 'https://acme.example/' } })).body.id}`;
  const twice = async (caller: Caller, path: string, json: object) => {
    const options = { json, headers: { 'idempotency-key': 'k' } };
    await caller.call(path, options);
    const answer = await caller.call(path, options);
    expect(answer.headers.get('idempotent-replayed')).toBe('true');
    return atHead(answer);
  };
  const contents = { json: { contents: ['a.example', 'b.example'] } };

  const writes: readonly (readonly [string, Write])[] = [
    [
      'a single event',
      async ({ organization, call }) =>
        atHead(
          await call('/v2/events', {
            json: cloudEvent(threatOf(organization, 't')),
            headers: { 'content-type': 'application/cloudevents+json' },
          }),
        ),
    ],
    [
      'a batch',
      async ({ organization, send }) =>
        atHead(await send(...['a', 'b', 'c'].map((id) => cloudEvent(threatOf(organization, id))))),
    ],
    ['an empty batch', async ({ send }) => atHead(await send())],
    [
      'a batch with rejected events',
      async ({ organization, send }) => atHead(await send(cloudEvent(threatOf(organization, 't')), { id: 'x' })),
    ],
    [
      'a batch of duplicates, and names the position of the last duplicate',
      async ({ organization, send }) => {
        const events = ['a', 'b'].map((id) => cloudEvent(threatOf(organization, id)));
        const { position } = await atHead(await send(...events));
        await send(cloudEvent(threatOf(organization, 'c')));
        return { answer: await send(...events), position };
      },
    ],
    [
      'a batch with a duplicate and a new event, and names the position of the new event',
      async ({ organization, send }) => {
        const event = cloudEvent(threatOf(organization, 'a'));
        await send(event);
        return atHead(await send(event, cloudEvent(threatOf(organization, 'b'))));
      },
    ],
    [
      'a dry run',
      async ({ organization, call }) =>
        atHead(
          await call('/v2/events?dryRun=true', { json: [cloudEvent(threatOf(organization, 'a'))], headers: BATCH }),
        ),
    ],
    ['a new group', async ({ call }) => atHead(await call(GROUPS, { json: { name: 'First' } }))],
    ['a repeated request for a group', (caller) => twice(caller, GROUPS, { name: 'First' })],
    [
      'a renamed group',
      async (caller) =>
        atHead(await caller.call(await newGroupPath(caller), { method: 'PATCH', json: { name: 'Second' } })),
    ],
    [
      'a group renamed to its own name',
      async (caller) =>
        atHead(await caller.call(await newGroupPath(caller), { method: 'PATCH', json: { name: 'First' } })),
    ],
    ['a deleted group', async (caller) => atHead(await caller.call(await newGroupPath(caller), { method: 'DELETE' }))],
    ['added members', async (caller) => atHead(await caller.call(`${await newGroupPath(caller)}/assets`, contents))],
    [
      'members that were already in the group',
      async (caller) => {
        const path = `${await newGroupPath(caller)}/assets`;
        await caller.call(path, contents);
        return atHead(await caller.call(path, contents));
      },
    ],
    [
      'removed members',
      async (caller) => {
        const path = `${await newGroupPath(caller)}/assets`;
        await caller.call(path, contents);
        return atHead(await caller.call(`${path}/remove`, contents));
      },
    ],
    ['a new webhook', async ({ call }) => atHead(await call(WEBHOOKS, { json: { url: 'https://acme.example/' } }))],
    ['a repeated request for a webhook', (caller) => twice(caller, WEBHOOKS, { url: 'https://acme.example/' })],
    [
      'a changed webhook',
      async (caller) => atHead(await caller.call(await webhook(caller), { method: 'PATCH', json: { batch: 5 } })),
    ],
    [
      'a webhook changed to its current settings',
      async (caller) => atHead(await caller.call(await webhook(caller), { method: 'PATCH', json: { batch: 1 } })),
    ],
    ['a new secret', async (caller) => atHead(await caller.call(`${await webhook(caller)}/rotate`, { json: {} }))],
    [
      'a replay',
      async (caller) => atHead(await caller.call(`${await webhook(caller)}/replay`, { json: { from: 'beginning' } })),
    ],
    ['a deleted webhook', async (caller) => atHead(await caller.call(await webhook(caller), { method: 'DELETE' }))],
  ];

  beforeAll(() => void resume());
  afterAll(pause);

  it.each(writes)('is returned for %s', async (_, write) => {
    const { answer, position } = await write(await newCaller());
    expect([200, 201]).toContain(answer.status);
    expect(tokenOf(answer)).toMatch(TOKEN_FORMAT);
    expect(await positionIn(answer)).toBe(position);
  });

  it('never names an earlier position than the token of the request, even for a duplicate of an old event', async () => {
    const { organization, send, callWithToken } = await newCaller();
    const json = [cloudEvent(threatOf(organization, 'old'))];
    await send(...json);
    const token = tokenOf(await send(cloudEvent(threatOf(organization, 'new'))));
    const repeated = await callWithToken(token, { path: '/v2/events', json, headers: BATCH });
    expect(repeated.body).toMatchObject({ accepted: 0, duplicates: 1 });
    expect(await positionIn(repeated)).toBe(await tokens.read(token));
  });
});

describe('Each route with a token', () => {
  it('is covered by this spec', () => {
    expect([...READS, ...WRITES, SENDS, ...Object.keys(TAXII_REQUESTS), ...TAXII_WITHOUT].sort()).toEqual(
      keyedOperations().sort(),
    );
  });

  describe('of an organization whose records are all counted', () => {
    let owner: Awaited<ReturnType<typeof newOwner>>;
    beforeAll(async () => {
      resume();
      owner = await newOwner();
      await projecting!.reached();
      await eventually('the verdict is listed', async () => {
        const { status } = await owner.call(owner.request('getVerdict').path);
        return status === 200;
      });
    });
    afterAll(pause);

    // The other operations need these resources, so they are deleted last.
    const last = WRITES.filter((operation) => operation.startsWith('delete'));
    it.each([...READS, ...WRITES.filter((operation) => !last.includes(operation)), ...last])(
      'accepts the newest token and returns a token that is not older: %s',
      async (operation) => {
        const token = await tokenAt(await app.log.head());
        const answer = await owner.callWithToken(token, owner.request(operation), 'wait=10');
        expect([operation, answer.status, answer.body]).toEqual([
          operation,
          /^(?:create|file)/.test(operation) ? 201 : 200,
          answer.body,
        ]);
        expect(answer.headers.get('preference-applied')).toBe('wait=10');
        if (ABOUT_THE_PAST.includes(operation)) {
          expect([answer.headers.get('consistency-token'), answer.headers.has('known-at')]).toEqual([null, true]);
          return;
        }
        expect(tokenOf(answer)).toMatch(TOKEN_FORMAT);
        expect(await positionIn(answer)).toBeGreaterThanOrEqual(await tokens.read(token));
      },
    );
  });

  describe('while the projector is stopped', () => {
    let owner: Awaited<ReturnType<typeof newOwner>>;
    let token: string;
    beforeAll(async () => {
      owner = await newOwner();
      await project();
      token = tokenOf(await owner.send(cloudEvent(threatOf(owner.organization, 'late'))));
    });

    it.each(READS)('returns 503 for a token that its projections have not reached: %s', async (operation) => {
      const request = owner.request(operation);
      const answer = await owner.callWithToken(token, request, 'wait=0');
      expect([answer.status, answer.body]).toEqual([503, NOT_REACHED]);
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      expect(answer.headers.get('consistency-token')).toBeNull();
      // The same request without the token succeeds, and names a position that it has read, without another query.
      const current = jest.spyOn(app.app.get(Checkpoints), 'current');
      const withoutToken = await owner.call(request.path, request);
      expect([withoutToken.status, current.mock.calls.length]).toEqual([200, 0]);
      current.mockRestore();
      if (ABOUT_THE_PAST.includes(operation)) return;
      const position = await positionIn(withoutToken);
      expect(position).toBeGreaterThanOrEqual(0n);
      expect(position).toBeLessThan(await tokens.read(token));
    });

    it.each(Object.entries(TAXII_REQUESTS))('returns 503 or 410, in the form of TAXII, for %s', async (_, request) => {
      const { path } = request(1);
      const late = await owner.callWithToken(token, { path }, 'wait=0');
      expect([late.status, late.body]).toEqual([503, expect.objectContaining({ http_status: '503' })]);
      expect(Number(late.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      const beyond = await tokenAt((await app.log.head()) + 1_000_000n);
      const lost = await owner.callWithToken(beyond, { path });
      expect([lost.status, lost.body]).toEqual([410, expect.objectContaining({ http_status: '410' })]);
    });

    it('is answered while both connections that poll the read models are busy', async () => {
      const watch = app.app.get(WatchPool);
      const busy = [await watch.connect(), await watch.connect()];
      const reached = tokenOf(await owner.call(GROUPS));
      const answers = await Promise.all([
        owner.callWithToken(reached, { path: GROUPS }),
        owner.callWithToken(reached, { path: '/v2/organization/metrics' }),
        owner.call(WEBHOOKS, { json: { url: 'https://busy.example/' } }),
      ]).finally(() => busy.forEach((connection) => connection.release()));
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 201]);
    });

    // Changes of members and webhooks are left out: they wait for their projection with or without a token.
    it.each(['createAssetGroup', 'renameAssetGroup', 'sendEvents', 'createWebhook'])(
      'does not wait for the token if it only writes: %s',
      async (operation) => {
        const { path, ...rest } = owner.request(operation);
        const answer = await owner.callWithToken(token, { path, ...rest }, 'wait=0');
        expect([200, 201]).toContain(answer.status);
      },
    );

    it.each([...READS, ...WRITES])(
      'returns 410 for a token beyond the head, and stores nothing: %s',
      async (operation) => {
        const head = await app.log.head();
        const answer = await owner.callWithToken(await tokenAt(head + 1_000_000n), owner.request(operation));
        expect([answer.status, answer.body]).toEqual([410, READ_AGAIN]);
        expect(await app.log.head()).toBe(head);
      },
    );
  });
});

describe('A response to a request with a token', () => {
  afterAll(pause);

  /** For each route: the request, and whether its response contains the written event. */
  const readsOfThreat: Record<string, (caller: Caller, id: string) => [Request, (body: any) => boolean]> = {
    metrics: () => [{ path: '/v2/organization/metrics' }, ({ metrics }) => metrics.newThreats === 1],
    timeline: () => [
      { path: '/v2/organization/metrics/timeline?startDate=2026-03-01&endDate=2026-03-02' },
      ({ points }) => points.some(({ newThreats }: { newThreats: number }) => newThreats === 1),
    ],
    'timeline as a table': () => [
      { path: '/v2/organization/metrics/timeline.csv?startDate=2026-03-01&endDate=2026-03-02' },
      (text) => /^2026-03-01[^\r]*,0,1,0,0,0,1\r$/m.test(text),
    ],
    comparison: () => [
      { path: '/v2/organization/metrics/comparison?startDate=2026-03-01&endDate=2026-03-02' },
      ({ current }) => current.metrics.newThreats === 1,
    ],
    list: (_, id) => [
      { path: '/v2/organization/threats' },
      ({ items }) => items.some((item: { id: string }) => item.id === id),
    ],
    table: (_, id) => [{ path: '/v2/organization/threats.csv' }, (text) => text.includes(id)],
    record: (_, id) => [{ path: `/v2/organization/threats/${id}` }, (item) => item.id === id],
    feed: (_, id) => [
      { path: '/v2/organization/feed' },
      (elements) => elements.some(({ subject }: { subject: string }) => subject === id),
    ],
    status: ({ organization }, id) => [
      {
        path: '/v2/events/status',
        json: { events: [{ source: SOURCE, id, type: 'ThreatStatusChanged', record: { organization, threatId: id } }] },
      },
      ({ events: [{ status }] }) => status === 'counted',
    ],
  };

  it.each(Object.entries(readsOfThreat))(
    'includes the event that the token was returned for: %s',
    async (_, requestFor) => {
      await pause();
      const caller = await newCaller();
      const id = `t-${randomUUID().slice(0, 8)}`;
      const event = { ...threatOf(caller.organization, id), id };
      const token = tokenOf(await caller.send(cloudEvent(event)));
      const [request, shows] = requestFor(caller, id);
      // Sent before the projector starts, so that the request has to wait.
      const waiting = caller.callWithToken(token, request, 'wait=10');
      await eventually('the request waits', () => app.app.get(WaitingRequests).size === 1);
      resume();
      const answer = await waiting;
      expect([answer.status, answer.body, shows(answer.body)]).toEqual([200, answer.body, true]);
      expect(await positionIn(answer)).toBeGreaterThanOrEqual(await tokens.read(token));
    },
  );

  it.each([
    ['check', '/v2/asset/check', ({ status }: any) => status],
    ['bulk check', '/v2/asset/check/bulk', ({ results }: any) => results[0].status],
    ['history', '/v2/asset/history', ({ statuses }: any) => statuses[0]?.status],
  ])('includes the status of an asset: %s', async (_, path, statusIn) => {
    const { call, callWithToken } = await newCaller();
    const key = await app.issueKey({ scopes: ['ingest'] });
    for (const status of ['BLOCKED', 'ALLOWED', 'BLOCKED'] as const) {
      await pause();
      const content = `${randomUUID().slice(0, 8)}.example`;
      const change = { ...EXAMPLES.AssetStatusChanged, changeId: content, asset: { type: 'URL', content }, status };
      const event = cloudEvent(
        sent('AssetStatusChanged', { ...change, brandReviews: [], createdAt: AT, updatedAt: AT }),
      );
      const token = tokenOf(await app.call('/v2/events', { key, json: [event], headers: BATCH }));
      const json = path.endsWith('bulk') ? { contents: [content] } : { content };
      expect((await call(path, { json })).status).toBe(200);
      const waiting = callWithToken(token, { path, json }, 'wait=10');
      resume();
      const answer = await waiting;
      expect([answer.status, statusIn(answer.body)]).toEqual([200, status]);
    }
  });

  it('includes groups, members, webhooks and brands', async () => {
    const caller = await newCaller();
    const { organization, call, callWithToken } = caller;
    const upstream = await app.issueKey({ scopes: ['ingest'] });
    const send = (event: Sent): Promise<ApiResponse> =>
      app.call('/v2/events', { key: upstream, json: [cloudEvent(event)], headers: BATCH });
    const readAfterWaiting = async (token: string, path: string): Promise<ApiResponse['body']> => {
      const waiting = callWithToken(token, { path }, 'wait=10');
      resume();
      const { status, body } = await waiting;
      expect(status).toBe(200);
      await pause();
      return body;
    };
    await pause();
    const group = await call(GROUPS, { json: { name: 'First' } });
    expect((await readAfterWaiting(tokenOf(group), GROUPS)).groups).toMatchObject([{ name: 'First' }]);
    const path = `${GROUPS}/${group.body.id}`;
    resume();
    const members = await call(`${path}/assets`, { json: { contents: ['a.example'] } });
    expect((await readAfterWaiting(tokenOf(members), `${path}/assets`)).assets).toHaveLength(1);
    const webhook = await call(WEBHOOKS, { json: { url: 'https://acme.example/' } });
    expect((await readAfterWaiting(tokenOf(webhook), WEBHOOKS)).webhooks).toHaveLength(1);
    const brand = await send(sent('BrandRegistered', { organization, brand: 'shoes', updatedAt: AT }));
    expect((await readAfterWaiting(tokenOf(brand), '/v2/organization/brands')).total).toBe(1);
    const flag = { organization, flag: 'f', enabled: true, updatedAt: AT };
    const flagged = await send(sent('FeatureFlagChanged', flag));
    expect((await readAfterWaiting(tokenOf(flagged), '/v2/organization')).flags).toEqual(['f']);
  });

  it('is returned once the event of the token has been parked', async () => {
    await pause();
    const { organization, callWithToken } = await newCaller();
    const threat = threatOf(organization, 'parked');
    const { stream, event } = stored(threat);
    await app.log.append(stream, 'any', [{ ...event, data: { organization, threatId: 'parked' } }]);
    const token = await tokenAt(await app.log.head());
    const metrics = { path: '/v2/organization/metrics' };
    expect((await callWithToken(token, metrics, 'wait=0')).status).toBe(503);
    const waiting = callWithToken(token, metrics, 'wait=10');
    resume();
    expect((await waiting).body).toMatchObject({ metrics: { newThreats: 0 } });
    expect((await callWithToken(token, { path: '/v2/events/parked' })).body).toMatchObject({
      items: expect.arrayContaining([expect.objectContaining({ projection: 'metrics', id: threat.id })]),
    });
  });

  it('never names an earlier position to a client that reads the feed in pages', async () => {
    const { organization, send, callWithToken } = await newCaller();
    resume();
    const events = ['a', 'b', 'c'].map((id) => cloudEvent(threatOf(organization, id)));
    const token = tokenOf(await send(...events));
    const page = await callWithToken(token, { path: '/v2/organization/feed?limit=1' }, 'wait=10');
    expect(page.body).toHaveLength(1);
    expect(await positionIn(page)).toBeGreaterThanOrEqual(await tokens.read(token));
  });
});

describe('The wait for a token', () => {
  let caller: Caller;
  let token: string;
  const metrics = { path: '/v2/organization/metrics' };
  beforeAll(async () => {
    await pause();
    caller = await newCaller();
    await project();
    token = tokenOf(await caller.send(cloudEvent(threatOf(caller.organization, 'late'))));
  });

  it.each([
    [undefined, 2],
    ['wait=0', 0],
    ['wait=1', 1],
    ['respond-async, WAIT = "1"', 1],
    ['wait=3; note=x', 3],
    ['wait=1, wait=3', 1],
    ['wait=11', 10],
    ['wait=99999999999999999999', 10],
    ['wait=', 2],
    ['wait=-1', 2],
    ['wait=1.5', 2],
    ['wait=soon', 2],
    ['await=0', 2],
    ['wait', 2],
    [',,;=', 2],
  ] as const)('ends after the requested time: Prefer: %s means %d s', async (prefer, seconds) => {
    // checkpoints.spec.ts tests the wait itself; this spec checks the requested duration.
    const reached = jest.spyOn(app.app.get(Checkpoints), 'reached').mockResolvedValueOnce(false);
    const { status, body } = await caller.callWithToken(token, metrics, prefer);
    expect([status, body]).toEqual([503, NOT_REACHED]);
    expect(reached.mock.calls.map(([, , ms]) => ms)).toEqual([seconds * 1_000]);
    reached.mockRestore();
  });

  it('lasts as long as Prefer: wait says', async () => {
    const began = performance.now();
    expect((await caller.callWithToken(token, metrics, 'wait=1')).status).toBe(503);
    // A timer may fire a millisecond early.
    expect(performance.now() - began).toBeGreaterThanOrEqual(990);
  });

  it.each([
    ['wait=0', 'wait=0'],
    ['wait=7', 'wait=7'],
    ['respond-async, wait="7"', 'wait=7'],
    ['wait=11', 'wait=10'],
    ['wait=99999999999999999999', 'wait=10'],
    ['wait=soon', null],
    ['wait=-1', null],
    ['respond-async', null],
  ])('is confirmed even if the token is reached immediately: Prefer: %s is applied as %s', async (prefer, applied) => {
    const reached = tokenOf(await caller.call(metrics.path));
    const { status, headers } = await caller.callWithToken(reached, metrics, prefer);
    expect([status, headers.get('preference-applied')]).toEqual([200, applied]);
  });

  it('uses no database connection, and is limited to 64 requests per organization', async () => {
    const waiting = app.app.get(WaitingRequests);
    const waitingCalls = Array.from({ length: 64 }, () => caller.callWithToken(token, metrics, 'wait=10'));
    await eventually('all requests wait', () => waiting.size === 64);
    for (const type of [MetricsPool, RecordsPool]) {
      const pool = app.app.get(type);
      expect([pool.totalCount - pool.idleCount, pool.waitingCount]).toEqual([0, 0]);
    }
    const checkpoints = app.app.get(CheckpointPool);
    expect(checkpoints.totalCount - checkpoints.idleCount + checkpoints.waitingCount).toBeLessThanOrEqual(1);
    const others = await Promise.all([newCaller(), newCaller()]);
    for (const other of others) expect((await other.call(metrics.path)).status).toBe(200);

    const refused = await caller.callWithToken(token, metrics);
    expect([refused.status, refused.body.code]).toEqual([429, 'TOO_MANY_REQUESTS']);
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(refused.headers.get('consistency-token')).toBeNull();
    // Requests without a token, and requests of other organizations with a token, succeed.
    expect((await caller.call(metrics.path)).status).toBe(200);
    expect((await others[0]!.callWithToken(token, metrics, 'wait=0')).status).toBe(503);

    await project();
    for (const { status, body } of await Promise.all(waitingCalls))
      expect([status, body.metrics.newThreats]).toEqual([200, 1]);
    expect(waiting.size).toBe(0);
  });

  it('ends when the client closes the connection', async () => {
    const waiting = app.app.get(WaitingRequests);
    const late = tokenOf(await caller.send(cloudEvent(threatOf(caller.organization, 'later'))));
    const disconnect = new AbortController();
    const response = fetch(app.url + metrics.path, {
      headers: { 'x-api-key': caller.key, 'consistency-token': late, prefer: 'wait=10' },
      signal: disconnect.signal,
    });
    await eventually('the request waits', () => waiting.size === 1);
    disconnect.abort();
    await expect(response).rejects.toThrow();
    await eventually('the request has ended', () => waiting.size === 0, 2_000);
  });
});

describe('An API whose machine has a clock that is behind the clock of the database', () => {
  beforeAll(() => void resume());
  afterEach(() => void jest.restoreAllMocks());
  afterAll(pause);

  it.each([
    ['30 s', 30_000],
    ['6 min', 360_000],
  ])('accepts and counts the events of this moment: %s', async (_, behindMs) => {
    const { organization, send, callWithToken } = await newCaller();
    const actual = Date.now;
    jest.spyOn(Date, 'now').mockImplementation(() => actual() - behindMs);
    const at = new Date(actual()).toISOString();
    const threat = threatOf(organization, 'recent');
    const event = cloudEvent({ ...threat, data: { ...threat.data, createdAt: at, updatedAt: at } });
    const sending = await send(event);
    expect([sending.status, sending.body]).toMatchObject([200, { accepted: 1 }]);
    const read = async (path: string): Promise<any> =>
      (await callWithToken(tokenOf(sending), { path: `/v2/organization/${path}?startDate=2026-01-01` }, 'wait=10'))
        .body;
    expect((await read('metrics')).metrics.newThreats).toBe(1);
    expect((await read('threats')).items).toHaveLength(1);
    expect(await read('threats.csv')).toContain('recent');
  });
});

describe('An invalid token', () => {
  const metrics = { path: '/v2/organization/metrics' };
  /** Returns the token with a different character at one index. */
  const changed = (token: string, place: number): string =>
    token.slice(0, place) + (token[place] === 'A' ? 'B' : 'A') + token.slice(place + 1);

  it.each([
    ['empty', () => ''],
    ['one character', () => 'x'],
    ['a number', () => '17'],
    ['only the first part', (token: string) => token.slice(0, 8)],
    ['truncated', (token: string) => token.slice(0, -1)],
    ['too long', (token: string) => `${token}A`],
    ['128 characters', () => 'a'.repeat(128)],
    ['10,000 characters', () => 'a'.repeat(10_000)],
    ['with an invalid character', (token: string) => token.replace(/.$/, '!')],
    ['two tokens', (token: string) => `${token}, ${token}`],
    ['bits that no token has', (token: string) => `${token.slice(0, -1)}B`],
  ])('gets 400: %s', async (_, write) => {
    const { callWithToken } = await newCaller();
    for (const request of [metrics, { path: GROUPS, json: { name: 'First' } }]) {
      const answer = await callWithToken(write(await tokenAt(0n)), request);
      expect([answer.status, answer.body]).toMatchObject([400, { code: 'BAD_REQUEST', message: MALFORMED }]);
      expect(answer.headers.get('consistency-token')).toBeNull();
    }
  });

  it('gets 400 or 410 if any character has been changed, and is never treated as reached', async () => {
    const { callWithToken } = await newCaller();
    const token = await tokenAt(0n);
    for (let place = 0; place < token.length; place += 1) {
      const { status } = await callWithToken(changed(token, place), metrics, 'wait=0');
      expect([place, [400, 410].includes(status)]).toEqual([place, true]);
    }
  });

  it('gets 410 if it is from another log', async () => {
    const { callWithToken } = await newCaller();
    const others = new ConsistencyTokens({ id: async () => 'another' } as never);
    for (const request of [metrics, { path: '/v2/organization' }, { path: GROUPS, json: { name: 'First' } }]) {
      const answer = await callWithToken(await tokenAt(0n, others), request);
      expect([answer.status, answer.body]).toEqual([410, READ_AGAIN]);
      expect(answer.headers.get('consistency-token')).toBeNull();
    }
  });
});

describe('An error response', () => {
  it('has no token, whatever token the request had', async () => {
    await project();
    const { call, callWithToken } = await newCaller();
    const token = tokenOf(await call('/v2/organization/metrics'));
    await call(GROUPS, { json: { name: 'First' }, headers: { 'idempotency-key': 'a' } });
    const readOnly = await app.issueKey({ organization: 'acme', scopes: ['read'] });
    const errors: readonly (readonly [number, Request & { key?: string }])[] = [
      [400, { path: '/v2/organization/metrics?startDate=never' }],
      [400, { path: GROUPS, json: {} }],
      [400, { path: '/v2/events', body: '{', headers: BATCH }],
      [401, { path: '/v2/organization/metrics', key: 'wrong' }],
      [403, { path: GROUPS, json: { name: 'x' }, key: readOnly }],
      [403, { path: '/v2/organization/metrics?brandSlug=none' }],
      [404, { path: '/v2/organization/threats/none' }],
      [404, { path: `${GROUPS}/99` }],
      [404, { path: `${GROUPS}/99`, method: 'DELETE' }],
      [404, { path: `${WEBHOOKS}/wh_${'0'.repeat(24)}` }],
      [404, { path: '/v2/none' }],
      [405, { path: '/v2/organization/metrics', method: 'DELETE' }],
      [409, { path: GROUPS, json: { name: 'First' } }],
      [413, { path: '/v2/asset/check', json: { content: 'x'.repeat(70_000) } }],
      [415, { path: '/v2/events', body: 'x', headers: { 'content-type': 'text/plain' } }],
      [422, { path: GROUPS, json: { name: 'Second' }, headers: { 'idempotency-key': 'a' } }],
    ];
    for (const [expected, request] of errors) {
      const answers = [await call(request.path, request), await callWithToken(token, request)];
      for (const { status, headers } of answers)
        expect([request, status, headers.get('consistency-token'), headers.get('preference-applied')]).toEqual([
          request,
          expected,
          null,
          null,
        ]);
    }
  });
});

describe('Tokens', () => {
  it('are equal for equal positions, whichever process writes them, and differ for different positions', async () => {
    const another = new ConsistencyTokens(app.log);
    const written = new Set<string>();
    for (const position of [7n, 8n, 7n, 8n, 9n, 7n]) {
      const token = await tokenAt(position);
      expect(await tokenAt(position, another)).toBe(token);
      written.add(token);
    }
    expect(written.size).toBe(3);
  });

  it('are encrypted only if the position has changed since the last response', async () => {
    await tokenAt(7n);
    const seal = jest.spyOn(SealedBlocks.prototype, 'seal');
    for (let n = 0; n < 100; n += 1) await tokenAt(7n);
    expect(seal).not.toHaveBeenCalled();
    await tokenAt(8n);
    expect(seal).toHaveBeenCalledTimes(1);
    seal.mockRestore();
  });

  it('are accepted by every process that uses the same log', async () => {
    const another = new ConsistencyTokens(app.log);
    for (const position of [-1n, 0n, 1n, 123_456_789_012n])
      expect(await another.read(await tokenAt(position))).toBe(position);
  });

  it('reveal nothing about their positions: no byte is constant or increases', async () => {
    const bytesOf = async (position: bigint): Promise<Buffer> =>
      Buffer.from((await tokenAt(position)).split('.')[1]!, 'base64url');
    const written = await Promise.all(Array.from({ length: 256 }, (_, n) => bytesOf(BigInt(n))));
    for (let place = 0; place < 16; place += 1) {
      const bytes = written.map((token) => token[place]!);
      // 256 random bytes have about 162 distinct values.
      expect(new Set(bytes).size).toBeGreaterThan(120);
      const rising = bytes.filter((byte, n) => n > 0 && byte > bytes[n - 1]!).length;
      expect(rising).toBeGreaterThan(80);
      expect(rising).toBeLessThan(176);
    }
  });
});
