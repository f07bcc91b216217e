import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rebuild } from '../../projections/engine/rebuild.js';
import { verify } from '../../projections/engine/verify.js';
import { register } from '../../projections/register/projection.js';
import { MAX_OPEN } from '../../src/disputes/dispute.js';
import type { NewEvent } from '../../src/event-log/event-log.js';
import { newEvent } from '../../src/event-log/new-event.js';
import { disputesStream } from '../../src/events/streams.js';
import { Expiry } from '../../src/read-models/expiry.js';
import { DailyQuota } from '../../src/quotas/daily-quota.js';
import { startApp, type TestApp } from '../support/app.js';
import type { ApiResponse, CallOptions } from '../support/call.js';
import { eventually } from '../support/eventually.js';
import { operatorCall } from '../support/operator-call.js';
import { report as send, sent, sentStatus } from '../support/upstream.js';
import { Receiver } from '../support/receiver.js';
import { Rig } from '../support/delivery-rig.js';

const folder = mkdtempSync(join(tmpdir(), 'disputes-'));
writeFileSync(join(folder, 'blocked.txt'), Array.from({ length: 30 }, (_, n) => `shop-${n}.example`).join('\n'));
writeFileSync(
  join(folder, 'sources.json'),
  JSON.stringify({
    sources: [
      { id: 'own', kind: 'own' },
      { id: 'house', kind: 'list', format: 'plain', file: 'blocked.txt' },
    ],
  }),
);

let rig: Rig;
let app: TestApp;
let other: TestApp;
let upstream: string;
beforeAll(async () => {
  rig = await Rig.start();
  const env = { SOURCES_FILE: join(folder, 'sources.json'), DATA_DIR: join(folder, 'data') };
  app = await startApp({ env, databaseUrl: rig.database.url });
  other = await startApp({ env, databaseUrl: rig.database.url });
  upstream = await app.issueKey({ scopes: ['ingest'] });
  const key = await newKey('any');
  for (const one of [app, other])
    await eventually('the list is read', async () => {
      const { body } = await one.call('/v2/asset/check', { key, json: { content: 'shop-0.example' } });
      return body.status === 'BLOCKED';
    });
  await eventually('the feed is filled', async () => (await app.call('/v2/organization/feed', { key })).status === 200);
});
afterAll(async () => {
  await other.close();
  await app.close();
  await rig.end();
  rmSync(folder, { recursive: true });
});

const newKey = async (organization: string): Promise<string> => {
  const key = await app.issueKey({ organization });
  await eventually('the other instance knows the key', async () => {
    const { status } = await other.call('/v2/asset/check', { key, json: { content: 'x.example' } });
    return status === 200;
  });
  return key;
};

/** Creates a new organization, and returns functions that call the API with its key. */
const newCaller = async () => {
  const organization = `org-${randomUUID().slice(0, 8)}`;
  const key = await newKey(organization);
  const call = (path: string, options: CallOptions = {}, at = app): Promise<ApiResponse> =>
    at.call(path, { key, ...options });
  const file = (body: object, idempotencyKey?: string, at = app, after?: ApiResponse): Promise<ApiResponse> =>
    call(
      '/v2/asset/disputes',
      { json: body, after, headers: idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey } },
      at,
    );
  const list = (query = ''): Promise<ApiResponse> => call(`/v2/asset/disputes${query}`);
  return { organization, key, call, file, list };
};

const resolve = (organization: string, disputeId: unknown, data: object = {}): Promise<ApiResponse> =>
  send(app, upstream, [
    sent('DisputeResolved', {
      organization,
      disputeId,
      outcome: 'ACCEPTED',
      resolvedAt: '2026-03-05T00:00:00Z',
      ...data,
    }),
  ]);

const block = async (content: string, status = 'BLOCKED'): Promise<ApiResponse> => {
  const createdAt = status === 'BLOCKED' ? '2026-03-01T00:00:00Z' : '2026-03-02T00:00:00Z';
  const after = await send(app, upstream, [
    sentStatus(randomUUID(), { asset: { type: 'URL', content }, status, createdAt }),
  ]);
  await rig.projecting.reached();
  return after;
};

/** A dispute as the service stores it. */
const disputeFiled = (organization: string, disputeId: string, content: string, createdAt: number): NewEvent => {
  const verdict = { status: 'BLOCKED', source: 'house', reason: undefined, sources: [], message: 'Blocked.' } as const;
  const request = { reason: undefined, idempotencyKeyHash: undefined, bodyHash: undefined };
  const asset = { type: 'URL', content };
  const data = { organization, disputeId, asset, content, createdAt, verdict, ...request };
  return newEvent({ type: 'DisputeFiled', data });
};

describe('POST /v2/asset/disputes', () => {
  it('returns 201 with the dispute and the verdict, and the dispute is then listed', async () => {
    const { file, list, call } = await newCaller();
    const { status, body, headers } = await file({
      content: 'https://shop-1.example/a',
      reason: 'Ours.',
      contact: 'me@shop.example',
    });
    expect(status).toBe(201);
    const { id } = body;
    expect(headers.get('location')).toBe(`/v2/asset/disputes/${id}`);
    expect(body).toEqual({
      id: expect.stringMatching(/^dp_[0-9a-f]{24}$/),
      asset: { type: 'URL', content: 'shop-1.example' },
      content: 'https://shop-1.example/a',
      status: 'OPEN',
      verdict: {
        status: 'BLOCKED',
        source: 'house',
        reason: 'external-source',
        sources: [
          { source: 'own', status: 'UNKNOWN', mode: 'ENABLED', reason: 'not-found' },
          { source: 'house', status: 'BLOCKED', mode: 'ENABLED', match: 'shop-1.example' },
        ],
        message: expect.stringContaining('the source house has "shop-1.example" on its blocklist'),
      },
      reason: 'Ours.',
      createdAt: expect.any(String),
      updatedAt: body.createdAt,
    });
    expect(await call(`/v2/asset/disputes/${id}`)).toMatchObject({ status: 200, body });
    expect((await list()).body).toEqual({ items: [body] });
  });

  it('says in the message of an own verdict where to dispute the verdict', async () => {
    const { call } = await newCaller();
    const after = await block('own-1.example');
    const { body } = await call('/v2/asset/check', { json: { content: 'own-1.example' }, after });
    expect(body.message).toBe(
      '"own-1.example" is blocked: this service has it on its blocklist since 2026-03-01; to dispute this, see POST /v2/asset/disputes.',
    );
  });

  it('returns 422 if the check does not say BLOCKED, and 400 if a field is invalid', async () => {
    const { file } = await newCaller();
    for (const content of ['good.example', 'not an asset at all', 'about:blank'])
      expect(await file({ content })).toMatchObject({ status: 422, body: { code: 'UNPROCESSABLE_CONTENT' } });
    const content = 'shop-1.example';
    for (const body of [
      {},
      { content: '' },
      { content: 'a\ud800' },
      { content, reason: '' },
      { content, reason: 'x'.repeat(2_001) },
      { content, reason: null },
      { content, contact: 'x'.repeat(255) },
      { content, contact: 'a\0' },
    ])
      expect(await file(body)).toMatchObject({ status: 400 });
    expect((await file({ content, reason: '𝒂'.repeat(2_000), contact: '𝒂'.repeat(254) })).status).toBe(201);
  });

  it('returns 409 while a dispute about the same asset is open, in every spelling, and not to other organizations', async () => {
    const { organization, file } = await newCaller();
    const first = await file({ content: 'shop-2.example' });
    for (const content of ['https://SHOP-2.example/x', 'shop-2[.]example'])
      expect(await file({ content })).toMatchObject({
        status: 409,
        body: { message: `The organization has an open dispute about this asset: ${first.body.id}` },
      });
    expect((await (await newCaller()).file({ content: 'shop-2.example' })).status).toBe(201);
    await resolve(organization, first.body.id);
    expect((await file({ content: 'shop-2.example' })).status).toBe(201);
  });

  it.each([
    [
      'a second recipient',
      'mailto:a@good.example?cc=b@evil-1.example',
      'EMAIL:b@evil-1.example',
      'EMAIL:b@evil-1.example',
    ],
    [
      'a host behind a recipient',
      'mailto:a@good.example?cc=b@evil-2.example',
      'EMAIL:b@evil-2.example',
      'URL:evil-2.example',
    ],
    ['a second link', 'https://good.example/ https://evil-3.example/', 'URL:evil-3.example', 'URL:evil-3.example'],
    [
      'a domain above it',
      'https://good.example/ https://www.evil-4.example/',
      'URL:www.evil-4.example',
      'URL:evil-4.example',
    ],
    [
      'the target of a redirect',
      'https://www.google.com/url?q=https://evil-5.example/a',
      'URL:evil-5.example',
      'URL:evil-5.example',
    ],
    [
      'the recipient of tokens',
      'ethereum:0xdAC17F958D2ee523a2206206994597C13D831ec7/transfer?address=0x00000000219ab540356cBB839Cbe05303d7705Fa&uint256=1',
      'ADDRESS:0x00000000219ab540356cbb839cbe05303d7705fa',
      'ADDRESS:0x00000000219ab540356cbb839cbe05303d7705fa',
    ],
    ['a page', 'https://evil-6.example/bad', 'PAGE:evil-6.example/bad', 'PAGE:evil-6.example/bad'],
  ])('is about the asset whose entry decided: %s', async (_, content, expected, blocked) => {
    const assetOf = (key: string) => ({ type: key.split(':')[0]!, content: key.slice(key.indexOf(':') + 1) });
    const { file, list } = await newCaller();
    const after = await send(app, upstream, [
      sentStatus(randomUUID(), { asset: assetOf(blocked), status: 'BLOCKED', createdAt: '2026-03-01T00:00:00Z' }),
    ]);
    await rig.projecting.reached();
    const { status, body } = await file({ content }, undefined, app, after);
    expect([status, body.asset]).toEqual([201, assetOf(expected)]);
    expect(await file({ content: assetOf(expected).content })).toMatchObject({ status: 409 });
    expect((await list()).body.items).toMatchObject([{ asset: assetOf(expected) }]);
  });

  it('lets one of several concurrent requests to two instances file a dispute, and returns 409 to the others', async () => {
    const { file, list } = await newCaller();
    for (let round = 3; round < 8; round += 1) {
      const answers = await Promise.all(
        [app, other, app, other].map((at) => file({ content: `shop-${round}.example` }, undefined, at)),
      );
      expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([201, 409, 409, 409]);
    }
    expect((await list()).body.items).toHaveLength(5);
  });

  it('knows the disputes that the projector has not applied yet, and their resolutions', async () => {
    const { organization, file } = await newCaller();
    await rig.projecting.stop();
    try {
      const first = await file({ content: 'shop-1.example' }, 'k1');
      expect(first.status).toBe(201);
      expect((await file({ content: 'shop-1.example' }, undefined, other)).status).toBe(409);
      expect((await file({ content: 'shop-1.example' }, 'k1', other)).body).toEqual(first.body);
      await resolve(organization, first.body.id);
      expect((await file({ content: 'shop-1.example' }, undefined, other)).status).toBe(201);
    } finally {
      rig.project();
      await rig.projecting.reached();
    }
  }, 40_000);

  it('repeats the first response to an Idempotency-Key, whatever became of the dispute and the verdict', async () => {
    const { organization, file, list } = await newCaller();
    const after = await block('own-2.example');
    const first = await file({ content: 'own-2.example', contact: 'a@b.example' }, 'key', app, after);
    expect(first).toMatchObject({ status: 201 });
    expect(first.headers.get('idempotent-replayed')).toBeNull();
    await resolve(organization, first.body.id);
    await block('own-2.example', 'ALLOWED');
    const again = await file({ content: 'own-2.example', contact: 'a@b.example' }, 'key', other);
    expect([again.status, again.body]).toEqual([201, first.body]);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(await file({ content: 'own-2.example', reason: 'Else.' }, 'key')).toMatchObject({ status: 422 });
    expect(await file({ content: 'own-2.example' }, 'x'.repeat(256))).toMatchObject({ status: 400 });
    expect((await list()).body.items).toHaveLength(1);
  });

  it('repeats the response to the newest use of an Idempotency-Key that is used again after a day', async () => {
    const { file } = await newCaller();
    const rows: { id: string; filed: string }[] = [];
    for (let day = 1; day <= 4; day += 1) {
      const after = await block(`own-day-${day}.example`);
      const first = await file({ content: `own-day-${day}.example` }, 'reused', app, after);
      expect([day, first.status, first.headers.get('idempotent-replayed')]).toEqual([day, 201, null]);
      await rig.projecting.reached();
      const again = await file({ content: `own-day-${day}.example` }, 'reused', other);
      expect([again.status, again.body]).toEqual([201, first.body]);
      const { rows: filed } = await app.pool.query(
        `update read.disputes d set filed = jsonb_set(d.filed::jsonb, '{data,createdAt}', to_jsonb($1::text))::text
         from read.disputes old where d.id = $2 and old.id = d.id returning old.id, old.filed`,
        [`2026-03-0${day}T00:00:00.000Z`, first.body.id],
      );
      rows.push(...(filed as typeof rows));
    }
    for (const { id, filed } of rows)
      await app.pool.query('update read.disputes set filed = $2 where id = $1', [id, filed]);
  });

  it('needs a key with the scope write', async () => {
    const key = await app.issueKey({ organization: 'reader', scopes: ['read'] });
    expect((await app.call('/v2/asset/disputes', { key, json: { content: 'shop-1.example' } })).status).toBe(403);
  });

  it(`limits the open disputes of an organization to ${MAX_OPEN}`, async () => {
    const { organization, file } = await newCaller();
    const filed = Array.from({ length: MAX_OPEN }, (_, n) =>
      disputeFiled(organization, `dp_${n}`, `full-${n}.example`, n),
    );
    await rig.log.append(disputesStream(organization), 'no-stream', filed);
    await rig.projecting.reached();
    expect(await file({ content: 'shop-1.example' })).toMatchObject({
      status: 409,
      body: { message: `An organization has at most ${MAX_OPEN} open disputes; wait until some are resolved` },
    });
    await resolve(organization, 'dp_5');
    await rig.projecting.reached();
    expect((await file({ content: 'shop-1.example' })).status).toBe(201);
  });
});

describe('A dispute', () => {
  it('shows its resolution, in whatever order and however often resolutions arrive', async () => {
    const { organization, file, call } = await newCaller();
    const { body: first } = await file({ content: 'shop-1.example' });
    const late = { outcome: 'REJECTED', note: 'It is phishing.', resolvedAt: '2026-03-07T00:00:00Z' };
    const early = { outcome: 'ACCEPTED', resolvedAt: '2026-03-06T00:00:00Z' };
    for (const data of [late, early, late]) await resolve(organization, first.id, data);
    await rig.projecting.reached();
    const { body } = await call(`/v2/asset/disputes/${first.id}`);
    expect(body).toEqual({
      ...first,
      status: 'REJECTED',
      note: 'It is phishing.',
      updatedAt: '2026-03-07T00:00:00.000Z',
    });
    expect(await verify({ pool: app.pool, log: rig.log }, [register])).toEqual([]);
  });

  it('appears with its resolution if the resolution is in the log before the dispute', async () => {
    const { organization, list } = await newCaller();
    await resolve(organization, 'dp_early');
    await rig.projecting.reached();
    expect((await list()).body.items).toEqual([]);
    await rig.log.append(disputesStream(organization), 'no-stream', [
      disputeFiled(organization, 'dp_early', 'early.example', 1),
    ]);
    await rig.projecting.reached();
    expect((await list()).body.items).toMatchObject([{ id: 'dp_early', status: 'ACCEPTED' }]);
  });

  it('has verdictNow once its verdict is no longer BLOCKED', async () => {
    const { organization, file, call, list } = await newCaller();
    const blocked = await block('own-3.example');
    const { body: dispute } = await file({ content: 'https://own-3.example/x' }, undefined, app, blocked);
    await resolve(organization, dispute.id);
    const after = await block('own-3.example', 'ALLOWED');
    const one = await call(`/v2/asset/disputes/${dispute.id}`, { after });
    expect(one.body).toMatchObject({ status: 'ACCEPTED', verdict: dispute.verdict, verdictNow: { status: 'ALLOWED' } });
    expect((await list()).body.items).toEqual([one.body]);
    const tag = { 'if-none-match': one.headers.get('etag')! };
    expect((await call(`/v2/asset/disputes/${dispute.id}`, { headers: tag })).status).toBe(304);
  });

  it('is invisible to other organizations', async () => {
    const { file } = await newCaller();
    const { body } = await file({ content: 'shop-1.example' });
    const stranger = await newCaller();
    expect(await stranger.call(`/v2/asset/disputes/${body.id}`)).toMatchObject({
      status: 404,
      body: { message: 'Dispute not found' },
    });
    expect((await stranger.list()).body).toEqual({ items: [] });
  });

  it('is resolved only by a key without an organization', async () => {
    const { organization, file } = await newCaller();
    const { body } = await file({ content: 'shop-1.example' });
    const key = await app.issueKey({ organization, scopes: ['ingest'] });
    await expect(
      send(app, key, [
        sent('DisputeResolved', {
          organization,
          disputeId: body.id,
          outcome: 'ACCEPTED',
          resolvedAt: '2026-03-05T00:00:00Z',
        }),
      ]),
    ).rejects.toThrow('needs an ingest key without an organization');
  });
});

describe('GET /v2/asset/disputes', () => {
  it('lists the newest disputes first, in pages, by status and by asset, and as CSV', async () => {
    const { organization, file, list, call } = await newCaller();
    const ids: string[] = [];
    for (let n = 10; n < 15; n += 1)
      ids.unshift((await file({ content: `shop-${n}.example`, reason: `R${n}` })).body.id);
    await resolve(organization, ids[1]);
    await rig.projecting.reached();
    const first = (await list('?limit=3')).body;
    expect(first.items.map(({ id }: { id: string }) => id)).toEqual(ids.slice(0, 3));
    const rest = (await list(`?limit=3&cursor=${first.nextCursor}`)).body;
    expect(rest.items.map(({ id }: { id: string }) => id)).toEqual(ids.slice(3));
    expect(rest.nextCursor).toBeUndefined();
    expect((await list('?status=ACCEPTED')).body.items).toMatchObject([{ id: ids[1] }]);
    expect((await list('?status=OPEN')).body.items).toHaveLength(4);
    expect((await list('?content=https://shop-12.example/q')).body.items).toMatchObject([{ id: ids[2] }]);
    expect((await list('?cursor=none')).status).toBe(400);
    expect((await list('?brandSlug=x')).status).toBe(400);
    const csv = (await call('/v2/asset/disputes.csv')).body as string;
    expect(csv.split('\r\n')[0]).toBe(
      'id,asset.type,asset.content,content,status,verdict.status,verdict.source,verdict.reason,verdict.sources,verdict.message,reason,note,createdAt,updatedAt',
    );
    expect(csv).toContain(`${ids[1]},URL,shop-13.example,shop-13.example,ACCEPTED,BLOCKED,house,`);
  });
});

describe('A dispute outside of its routes', () => {
  it('is in the feed and in deliveries, without its contact', async () => {
    const { organization, file, call } = await newCaller();
    const receiver = new Receiver();
    const endpoint = { organization, types: ['dispute'] as const };
    await rig.endpoint(await receiver.start(), { ...endpoint, types: [...endpoint.types] });
    const running = await rig.deliver();
    try {
      const { body } = await file({ content: 'shop-1.example', contact: 'secret@shop.example' });
      await eventually('the delivery', () => receiver.received.length === 1);
      await resolve(organization, body.id);
      await eventually('the second delivery', () => receiver.received.length === 2);
      const feed = (await call('/v2/organization/feed?types=dispute')).body;
      const resolved = { ...body, status: 'ACCEPTED', updatedAt: '2026-03-05T00:00:00.000Z' };
      expect(feed).toMatchObject([{ type: 'threat-protection.dispute', subject: body.id, data: resolved }]);
      expect(receiver.received.map((each) => JSON.parse(each.body).data)).toEqual([body, resolved]);
      const everything = JSON.stringify([feed, receiver.received, await rig.log.readAll(-1n, 100_000)], (_, value) =>
        typeof value === 'bigint' ? String(value) : (value as unknown),
      );
      expect(everything).not.toContain('secret@shop.example');
    } finally {
      await running.stop();
      await receiver.stop();
    }
  });

  it('is listed for the operator with its contact, until the contact is erased 90 days after the resolution', async () => {
    const { organization, file } = await newCaller();
    const { body: open } = await file({ content: 'shop-1.example', contact: 'open@shop.example' });
    const { body: recent } = await file({ content: 'shop-2.example', contact: 'recent@shop.example' });
    const { body: old } = await file({ content: 'shop-3.example', contact: 'old@shop.example' });
    const ago = (days: number): string => new Date(Date.now() - days * 86_400_000).toISOString();
    await resolve(organization, recent.id, { resolvedAt: ago(89.9) });
    await resolve(organization, old.id, { resolvedAt: ago(90.1) });
    // A process that ended before the append has left a contact without a dispute.
    await rig.rows(`insert into service.dispute_contacts values ($1, 'dp_none', 'none@shop.example', 0)`, [
      organization,
    ]);
    await rig.projecting.reached();
    const contacts = async (...filter: string[]): Promise<[string, string | null][]> => {
      const env = { DATABASE_URL: rig.database.url };
      const words = ['disputes', 'list', '--organization', organization, '--json', ...filter];
      const { code, out } = await operatorCall(env, ...words);
      expect(code).toBe(0);
      return JSON.parse(out).map(({ id, contact }: { id: string; contact: string | null }) => [id, contact]);
    };
    expect(await contacts()).toEqual([
      [open.id, 'open@shop.example'],
      [recent.id, 'recent@shop.example'],
      [old.id, 'old@shop.example'],
    ]);
    expect(await contacts('--status', 'OPEN')).toEqual([[open.id, 'open@shop.example']]);
    await rig.rows(`update service.dispute_contacts set stored_at = stored_at - 7200000 where organization = $1`, [
      organization,
    ]);
    expect(await app.app.get(Expiry).round()).toBe(600_000);
    expect(await contacts()).toEqual([
      [open.id, 'open@shop.example'],
      [recent.id, 'recent@shop.example'],
      [old.id, null],
    ]);
    const left = await rig.rows('select contact from service.dispute_contacts where organization = $1', [organization]);
    expect(left).toHaveLength(2);
  });

  it('stores the contact of a filed dispute only, and charges it to the daily quota of bytes', async () => {
    const { organization, file } = await newCaller();
    const contacts = () =>
      rig.rows('select contact from service.dispute_contacts where organization = $1', [organization]);
    const charged = async (): Promise<number> => {
      await app.app.get(DailyQuota).beforeApplicationShutdown();
      await other.app.get(DailyQuota).beforeApplicationShutdown();
      const [row] = await rig.rows<{ bytes: string }>(
        'select bytes from service.ingest_usage where organization = $1',
        [organization],
      );
      return Number(row?.bytes ?? 0);
    };
    const contact = '@'.repeat(254);
    const content = 'shop-20.example';
    expect((await file({ content: 'good.example', contact })).status).toBe(422);
    expect([await contacts(), await charged()]).toEqual([[], 0]);
    expect((await file({ content }, 'bare')).status).toBe(201);
    const bare = await charged();
    expect([await contacts(), bare > 500]).toEqual([[], true]);
    for (const [body, key, status] of [
      [{ content, contact }, undefined, 409],
      [{ content, contact }, 'bare', 201],
      [{ content, contact, reason: 'Else.' }, 'bare', 422],
    ] as const)
      expect((await file(body, key)).status).toBe(status);
    expect([await contacts(), await charged()]).toEqual([[], bare]);
    const racing = await Promise.all(
      [app, other, app, other, app, other].map((at) => file({ content: 'shop-21.example', contact }, 'kept', at)),
    );
    expect(racing.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201, 201]);
    expect([await contacts(), (await charged()) - bare]).toEqual([[{ contact }], bare + 254]);
  });

  it('has the same rows after a rebuild', async () => {
    const rows = (): Promise<unknown[]> => rig.rows('select * from read.disputes order by organization, id');
    const listed = (): Promise<unknown[]> =>
      rig.rows('select * from read.register where kind = 5 order by organization, id');
    const before = [await rows(), await listed()];
    expect(before[1]!.length).toBeGreaterThan(MAX_OPEN);
    await rig.projecting.stop();
    await rebuild({ pool: app.pool, log: rig.log }, [register]);
    rig.project();
    expect([await rows(), await listed()]).toEqual(before);
    expect(await verify({ pool: app.pool, log: rig.log }, [register])).toEqual([]);
  });
});
