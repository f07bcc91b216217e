import { request } from 'node:http';
import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { FeedWatch } from '../../src/records/feed/feed-watch.js';
import { TooManyRequests } from '../../src/errors.js';
import { UnreadResponses } from '../../src/http/responses/unread-responses.js';
import { FeedIds } from '../../src/records/feed/feed-ids.js';
import { sharedApp, sharedProjecting } from '../support/open-for-tests.js';
import type { ApiResponse } from '../support/call.js';
import { eventually } from '../support/eventually.js';
import { report as send, sent, type Sent } from '../support/upstream.js';

const app = sharedApp();
sharedProjecting(app);
let acme: string;
let other: string;
let ingest: string;
let lastReport: ApiResponse;

const T = '2026-03-01T00:00:00.000Z';
const LATER = '2026-03-02T00:00:00.000Z';
const asset = (content: string, type = 'URL') => ({ type, content });
const threat = (organization: string, threatId: string, status: string, content: string, updatedAt = T): Sent =>
  sent('ThreatStatusChanged', { organization, threatId, asset: asset(content), status, createdAt: T, updatedAt });
const verdict = (changeId: string, createdAt: string, ...reviews: readonly [string, string][]): Sent =>
  sent('AssetStatusChanged', {
    changeId,
    asset: asset('evil.example'),
    status: 'BLOCKED',
    brandReviews: reviews.map(([organization, brand]) => ({ organization, brand })),
    createdAt,
  });

/** Sends events. Later calls of `get` wait until the read models include the events. */
const report = async (...events: readonly Sent[]): Promise<void> => {
  lastReport = await send(app, ingest, events);
};

const get = (path: string, key = acme, headers: Record<string, string> = {}): Promise<ApiResponse> =>
  app.call(`/v2/organization/${path}`, { key, headers, after: lastReport });

const ids = (body: readonly { subject: string; method?: string }[]): string[] =>
  body.map(({ subject, method }) => (method === undefined ? subject : `-${subject}`));

beforeAll(async () => {
  acme = await app.issueKey({ organization: 'acme' });
  other = await app.issueKey({ organization: 'other' });
  ingest = await app.issueKey({ scopes: ['ingest'] });
  await report(
    threat('acme', 't-1', 'BLOCKED', 'one.example'),
    threat('acme', 't-2', 'WATCHLISTED', '=cmd|calc'),
    threat('acme', 't-3', 'BLOCKED', 'three.example'),
    sent('ThreatDeleted', { organization: 'acme', threatId: 't-3', deletedAt: LATER }),
    threat('other', 't-1', 'BLOCKED', 'theirs.example'),
    sent('ReportFiled', { organization: 'acme', reportId: 'r-1', brands: ['wallet'], createdAt: T, updatedAt: T }),
    sent('TakedownFiled', {
      organization: 'acme',
      takedownId: 'k-1',
      brand: 'wallet',
      asset: asset('one.example'),
      status: 'COMPLETED',
      createdAt: T,
      updatedAt: LATER,
    }),
    verdict('c-1', T, ['acme', 'wallet'], ['other', 'secret']),
    sent('FeatureFlagChanged', { organization: 'acme', flag: 'brands-metrics', enabled: true, updatedAt: T }),
    sent('BrandRegistered', { organization: 'acme', brand: 'wallet', updatedAt: T }),
  );
});

const T1 = { id: 't-1', asset: asset('one.example'), status: 'BLOCKED', createdAt: T, updatedAt: T };

/** Returns as many different names of a status or type. */
const names = (count: number): string => Array.from({ length: count }, (_, n) => `S${n}`).join();

describe('The lists of records', () => {
  it('show the records of the organization in the newest state that upstream sent', async () => {
    expect((await get('threats')).body.items.map(({ id }: { id: string }) => id)).toEqual(['t-1', 't-2']);
    expect((await get('threats?status=BLOCKED')).body).toEqual({ items: [T1] });
    expect((await get('reports')).body.items).toEqual([{ id: 'r-1', brands: ['wallet'], createdAt: T, updatedAt: T }]);
    const takedown = { ...T1, id: 'k-1', status: 'COMPLETED', brand: 'wallet', updatedAt: LATER };
    expect((await get('takedowns?brandSlug=wallet&startDate=2026-03-02')).body.items).toEqual([takedown]);
    expect((await get('takedowns?startDate=2026-03-02')).body.items).toEqual([]);
    const expectedVerdict = {
      id: 'c-1',
      asset: asset('evil.example'),
      status: 'BLOCKED',
      brands: ['wallet'],
      createdAt: T,
    };
    expect((await get('verdicts?content=hxxps://evil[.]example/x')).body).toEqual({ items: [expectedVerdict] });
    expect((await get('verdicts/c-1')).body).toEqual(expectedVerdict);
    expect((await get('threats', other)).body.items).toHaveLength(1);
  });

  it('include a takedown with the id `statistics`, although its path returns the takedown statistics', async () => {
    const named = { organization: 'other', takedownId: 'statistics', asset: asset('one.example'), status: 'TODO' };
    await report(sent('TakedownFiled', { ...named, createdAt: T, updatedAt: T }));
    const [{ id }] = (await get('takedowns', other)).body.items;
    expect(id).toBe('statistics');
    expect((await get('takedowns/statistics', other)).body).toMatchObject({ filed: 1 });
    expect(ids((await get('feed?types=takedown', other)).body)).toEqual(['statistics']);
    expect((await get('takedowns.csv', other)).body).toContain('\r\nstatistics,');
  });

  it('return X-As-Of and an ETag, and 304 if they are unchanged', async () => {
    const { headers } = await get('threats?startDate=2026-01-01&limit=1');
    expect(Date.now() - Date.parse(headers.get('x-as-of')!)).toBeLessThan(60_000);
    const again = await get('threats?startDate=2026-01-01&limit=1', acme, { 'if-none-match': headers.get('etag')! });
    expect(again.status).toBe(304);
  });

  it('change the ETag of a first page if a record behind it has changed, which its cursor would hide', async () => {
    const key = await app.issueKey({ organization: 'paged' });
    await report(...['p-1', 'p-2'].map((id) => threat('paged', id, 'BLOCKED', `${id}.example`)));
    const first = await get('threats?limit=1', key);
    const unchanged = { 'if-none-match': first.headers.get('etag')! };
    await report(threat('other', 't-5', 'BLOCKED', 'theirs.example'));
    expect((await get('threats?limit=1', key, unchanged)).status).toBe(304);
    const behind = first.body.items[0].id === 'p-1' ? 'p-2' : 'p-1';
    await report(threat('paged', behind, 'WATCHLISTED', `${behind}.example`, LATER));
    const again = await get('threats?limit=1', key, unchanged);
    expect([again.status, again.body.items]).toEqual([200, first.body.items]);
    const next = await get(`threats?limit=1&cursor=${again.body.nextCursor}`, key);
    expect(next.body.items).toMatchObject([{ id: behind, status: 'WATCHLISTED' }]);
  });

  it('claim no more on a later page than the first page contains', async () => {
    const key = await app.issueKey({ organization: 'claims' });
    await report(...['p-1', 'p-2'].map((id) => threat('claims', id, 'BLOCKED', `${id}.example`)));
    const first = await get('threats?limit=1', key);
    await report(threat('claims', 'p-3', 'BLOCKED', 'p-3.example'));
    // Waits until the read models include the new threat, which the later page does not show.
    expect((await get('threats', key)).body.items).toHaveLength(3);
    const path = `/v2/organization/threats?limit=1&cursor=${first.body.nextCursor}`;
    const later = await app.call(path, { key });
    expect(later.body.items).toHaveLength(1);
    for (const name of ['x-as-of', 'consistency-token'])
      expect([name, later.headers.get(name)]).toEqual([name, first.headers.get(name)]);
    // A client that has seen a later state does not go back.
    const token = lastReport.headers.get('consistency-token')!;
    const seen = await app.call(path, { key, headers: { 'consistency-token': token } });
    expect([seen.body.items, seen.headers.get('consistency-token')]).toEqual([later.body.items, token]);
  });

  it('end an export that cannot be sent, so that the next one can begin', async () => {
    jest.spyOn(UnreadResponses.prototype, 'charge').mockImplementationOnce(() => {
      throw new TooManyRequests(1);
    });
    const table = (): Promise<ApiResponse> => get('threats.csv', acme, { 'accept-encoding': 'identity' });
    expect((await table()).status).toBe(429);
    await eventually('the next export begins', async () => (await table()).status === 200);
  });

  it.each([
    ['reports/r-9', 'Report not found'],
    ['threats/t-3', 'Threat not found'],
    ['threats/%00', 'Threat not found'],
    ['takedowns/k-9', 'Takedown not found'],
    ['verdicts/c-9', 'Verdict not found'],
    ['reports?brandSlug=nobody', 'Brand not found'],
  ])('return 404 for %s', async (path, message) => {
    expect(await get(path)).toMatchObject({ status: 404, body: { code: 'NOT_FOUND', message } });
  });

  it.each([
    'threats?brandSlug=wallet',
    'reports?status=BLOCKED',
    'reports?assetType=URL',
    'reports?content=one.example',
    'threats?status=blocked',
    'threats?status=',
    'threats?status=BLOCKED,',
    'threats?status=BLOCKED&status=PENDING',
    `threats?status=${names(51)}`,
    `threats?status=${names(21)}&assetType=${names(10)}`,
    'threats?assetType=a b',
    'threats?content=',
    'threats?content=%C2%AF_(%E3%83%84)_/%C2%AF',
    'threats?limit=0',
    'threats?limit=1001',
    'threats?cursor=x',
    'threats?startDate=2026-02-30',
    'threats?startDate=2026-02-02&endDate=2026-02-01',
    'feed?types=brand',
    'feed?timeout=25001',
    'feed?limit=0',
    'feed?lastEventId=x',
    'feed?lastEventId=',
  ])('return 400 for %s', async (path) => {
    expect(await get(path)).toMatchObject({ status: 400, body: { code: 'BAD_REQUEST' } });
  });

  it('reject filters by brand for an organization without the feature flag', async () => {
    expect((await get('verdicts?brandSlug=secret', other)).status).toBe(403);
  });

  it('are available as CSV without formulas in cells', async () => {
    const { headers, body } = await get('threats', acme, { accept: 'text/csv' });
    expect(body).toBe(
      'id,asset.type,asset.content,status,createdAt,updatedAt\r\n' +
        `t-1,URL,one.example,BLOCKED,${T},${T}\r\n` +
        `t-2,URL,'=cmd|calc,WATCHLISTED,${T},${T}\r\n`,
    );
    expect(headers.get('content-type')).toContain('text/csv');
    expect(headers.get('x-as-of')).not.toBeNull();
    expect((await get('takedowns?brandSlug=wallet', acme, { accept: 'text/csv' })).body.split('\r\n')[1]).toBe(
      `k-1,URL,one.example,COMPLETED,wallet,${T},${LATER}`,
    );
  });
});

describe('The feed', () => {
  it('returns a full copy and then every change, as CloudEvents', async () => {
    const { headers, body } = await get('feed');
    expect(headers.get('content-type')).toContain('application/cloudevents-batch+json');
    expect(ids(body)).toEqual(['t-1', 't-2', '-t-3', 'r-1', 'k-1', 'c-1']);
    expect(body[0]).toEqual({
      specversion: '1.0',
      id: expect.stringMatching(/^[A-Za-z0-9._-]{1,128}$/),
      source: '/v2/organization/feed',
      type: 'threat-protection.threat',
      subject: 't-1',
      time: expect.stringMatching(/Z$/),
      datacontenttype: 'application/json',
      data: T1,
    });
    expect(ids((await get(`feed?lastEventId=${body[2].id}`)).body)).toEqual(['r-1', 'k-1', 'c-1']);
    expect(ids((await get('feed?types=report,verdict')).body)).toEqual(['r-1', 'c-1']);
    const paged: string[] = [];
    for (let last = ''; ;) {
      const page = (await get(`feed?limit=1${last}`)).body;
      if (page.length === 0) break;
      paged.push(...ids(page));
      last = `&lastEventId=${page[0].id}`;
    }
    expect(paged).toEqual(ids(body));
  });

  it('wakes only the waiting requests for which there are new elements', async () => {
    const last = (await get('feed')).body.at(-1).id;
    const wait = jest.spyOn(app.app.get(FeedWatch), 'wait');
    const waiting = get(`feed?timeout=20000&lastEventId=${last}`);
    const inVain = get(`feed?timeout=1500&types=report&lastEventId=${last}`);
    const theirs = get('feed?timeout=1500&types=report', other);
    await eventually('three requests have begun to wait', () => wait.mock.calls.length === 3);
    wait.mockRestore();
    await report(threat('acme', 't-4', 'BLOCKED', 'four.example'));
    // After its timeout, the request would return an empty list.
    expect(ids((await waiting).body)).toEqual(['t-4']);
    const [acmes, others] = await Promise.all([inVain, theirs]);
    expect([acmes.body, others.body]).toEqual([[], []]);
    expect(Date.parse(acmes.headers.get('x-as-of')!)).toBeGreaterThan(Date.parse(T));
    expect(app.app.get(FeedWatch).size).toBe(0);
  });

  it('lets 64 requests of an organization wait, and frees the slots of disconnected clients', async () => {
    const last = (await get('feed')).body.at(-1).id;
    const url = `${app.url}/v2/organization/feed?timeout=20000&lastEventId=${last}`;
    const all = Array.from({ length: 64 }, () =>
      request(url, { headers: { 'x-api-key': acme }, agent: false }).on('error', () => undefined),
    );
    for (const each of all) each.end();
    await eventually('64 requests wait', () => app.app.get(FeedWatch).size === 64);
    const refused = await get(`feed?timeout=20000&lastEventId=${last}`);
    expect(refused).toMatchObject({ status: 429, body: { code: 'TOO_MANY_REQUESTS' } });
    expect((await get(`feed?lastEventId=${last}`)).body).toEqual([]);
    for (const each of all) each.destroy();
    await eventually('no request waits', () => app.app.get(FeedWatch).size === 0);
  });

  it('omits changes that concern only other organizations, and reports deletions', async () => {
    const before = (await get('feed')).body;
    const last = before.at(-1).id;
    const changed = verdict('c-1', T, ['acme', 'wallet'], ['other', 'secret'], ['other', 'more']);
    await report(changed);
    expect((await get(`feed?lastEventId=${last}`)).body).toEqual([]);
    await report(verdict('c-1', LATER, ['other', 'more']));
    expect(ids((await get(`feed?lastEventId=${last}`)).body)).toEqual(['-c-1']);
    expect((await get('verdicts')).body.items).toEqual([]);
  });

  it('returns 410 for an id from another log, or of a lost event', async () => {
    const [first] = (await get('feed')).body;
    const feedIds = new FeedIds(await app.log.id());
    const position = feedIds.read(first.id);
    const goneIds = [
      new FeedIds('another log').write([position])[0],
      feedIds.write([{ ...position, event: '00000000' }])[0],
      feedIds.write([{ ...position, position: position.position + 1_000_000 }])[0],
    ];
    for (const id of goneIds)
      expect(await get(`feed?lastEventId=${id}`)).toMatchObject({
        status: 410,
        body: {
          code: 'GONE',
          message: 'lastEventId is from another log, or from before a restore; start again without lastEventId',
        },
      });
  });
});
