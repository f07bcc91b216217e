import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { assetStatuses } from '../../projections/asset-statuses.js';
import { startApp, type TestApp } from '../support/app.js';
import { projectToHead } from '../support/projecting.js';
import { type Sent, sent, stored } from '../support/upstream.js';

let folder: string;
let app: TestApp;
let key: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'history-'));
  await writeFile(join(folder, 'blocked.txt'), 'listed.example\nhttps://sites.google.com/view/bad\n');
  const sources = [
    { id: 'own', kind: 'own' },
    { id: 'house', kind: 'list', format: 'plain', file: 'blocked.txt' },
    { id: 'absent', kind: 'list', format: 'plain', file: 'absent.txt' },
    { id: 'off', kind: 'list', format: 'plain', file: 'blocked.txt', mode: 'DISABLED' },
  ];
  await writeFile(join(folder, 'sources.json'), JSON.stringify({ sources }));
  app = await startApp({ env: { SOURCES_FILE: join(folder, 'sources.json'), DATA_DIR: join(folder, 'data') } });
  key = await app.issueKey({ organization: 'acme', scopes: ['read'] });
});
afterAll(async () => {
  await app.close();
  await rm(folder, { recursive: true });
});

const ask = (json: unknown, as = key) => app.call('/v2/asset/history', { key: as, json });
const statusesOf = async (content: string, as = key) => (await ask({ content }, as)).body['statuses'];

const report = async (...events: readonly Sent[]): Promise<void> => {
  await app.log.appendAll(events.map(stored));
  await projectToHead(app.log, app.pool, [assetStatuses]);
};

const day = (n: number): string => `2026-03-${String(n).padStart(2, '0')}T00:00:00.000Z`;
const review = (pair: string): object => {
  const [organization, brand] = pair.split('/');
  return { organization, brand };
};
const entry = (changeId: string, content: string, status: string, createdAt: string, ...reviews: string[]): Sent => {
  const asset = { type: content.includes('/') ? 'PAGE' : 'URL', content };
  return sent('AssetStatusChanged', { changeId, asset, status, createdAt, brandReviews: reviews.map(review) });
};

describe('POST /v2/asset/history', () => {
  it('returns when statuses expire, and keeps them afterwards', async () => {
    const expiring = entry('e2', 'expiring.example', 'BLOCKED', day(2));
    await report(entry('e1', 'expiring.example', 'ALLOWED', day(1)), {
      ...expiring,
      data: { ...expiring.data, expiresAt: day(3) },
    });
    expect(await statusesOf('expiring.example')).toEqual([
      { status: 'BLOCKED', from: day(2), expiresAt: day(3), brands: [], match: 'expiring.example' },
      { status: 'ALLOWED', from: day(1), brands: [], match: 'expiring.example' },
    ]);
  });

  it('returns the own statuses of exactly this asset, newest first, regardless of the order of arrival', async () => {
    await report(
      entry('a3', 'A.example', 'ALLOWED', day(3)),
      entry('a1', 'a.example', 'BLOCKED', day(1)),
      entry('a2', 'https://a.example/', 'UNKNOWN', day(2)),
      entry('a0', 'sub.a.example', 'BLOCKED', day(4)),
      entry('a4', 'a.example', 'BLOCKED', day(5)),
      sent('AssetStatusChangeDeleted', {
        changeId: 'a4',
        asset: { type: 'URL', content: 'a.example' },
        deletedAt: day(6),
      }),
    );
    const { status, body } = await ask({ content: 'hxxps://A[.]example/claim' });
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        asset: { type: 'URL', content: 'a.example' },
        statuses: [
          { status: 'ALLOWED', from: day(3), brands: [], match: 'A.example' },
          { status: 'UNKNOWN', from: day(2), brands: [], match: 'https://a.example/' },
          { status: 'BLOCKED', from: day(1), brands: [], match: 'a.example' },
        ],
        hasMore: false,
        lists: [
          {
            source: 'house',
            mode: 'ENABLED',
            status: 'UNKNOWN',
            reason: 'not-found',
            watchedSince: expect.any(String),
          },
          { source: 'absent', mode: 'ENABLED', status: 'UNKNOWN', reason: 'source-error' },
          { source: 'off', mode: 'DISABLED', status: 'UNKNOWN' },
        ],
      },
    });
  });

  it('returns the statuses of a page and of its host, each with the asset that the status was reported for', async () => {
    await report(
      entry('p1', 'p.example/claim', 'BLOCKED', day(2)),
      entry('p2', 'p.example', 'ALLOWED', day(1)),
      entry('p3', 'p.example/other', 'BLOCKED', day(1)),
    );
    expect(await statusesOf('https://p.example/claim')).toMatchObject([
      { status: 'BLOCKED', match: 'p.example/claim' },
      { status: 'ALLOWED', match: 'p.example' },
    ]);
  });

  it('returns only brands of the requesting organization', async () => {
    await report(entry('b1', 'b.example', 'BLOCKED', day(1), 'acme/wallet', 'acme-2/theirs', 'acme/bank', 'other/x'));
    const other = await app.issueKey({ organization: 'other', scopes: ['read'] });
    expect(await statusesOf('b.example')).toMatchObject([{ brands: ['bank', 'wallet'] }]);
    expect(await statusesOf('b.example', other)).toMatchObject([{ brands: ['x'] }]);
    // Rows that an earlier version wrote have no reviews; the service reads the brands from the log.
    await app.pool.query(`update read.asset_status_entries set reviews = null where change_id = 'b1'`);
    expect(await statusesOf('b.example')).toMatchObject([{ brands: ['bank', 'wallet'] }]);
    expect(await statusesOf('b.example', other)).toMatchObject([{ brands: ['x'] }]);
  });

  it('returns the newest 100 statuses, and hasMore if there are more', async () => {
    const at = (n: number): string => new Date(Date.parse(day(1)) + n * 1_000).toISOString();
    const all = Array.from({ length: 101 }, (_, n) => entry(`m${n}`, 'm.example', 'BLOCKED', at(n)));
    await report(...all.slice(0, 100));
    expect((await ask({ content: 'm.example' })).body['hasMore']).toBe(false);
    await report(all[100]!);
    const { body } = await ask({ content: 'm.example' });
    expect(body['hasMore']).toBe(true);
    expect(body['statuses'].map(({ from }: { from: string }) => from)).toEqual(
      Array.from({ length: 100 }, (_, n) => at(100 - n)),
    );
  });

  it('returns since when each list has had the matching entry, and since when the list is read', async () => {
    const watchedSince = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]{8}\.000Z$/);
    for (const [content, hit] of [
      ['listed.example', { status: 'BLOCKED', match: 'listed.example' }],
      ['a.b.listed.example', { status: 'BLOCKED', reason: 'parent-domain', match: 'listed.example' }],
      ['https://sites.google.com/view/bad', { status: 'BLOCKED', match: 'https://sites.google.com/view/bad' }],
    ] as const) {
      const { lists } = (await ask({ content })).body;
      expect(lists[0]).toEqual({ source: 'house', mode: 'ENABLED', ...hit, seenSince: watchedSince, watchedSince });
      expect(lists[0].seenSince).toBe(lists[0].watchedSince);
    }
  });

  it('returns a code and no history for content that is not an asset or is an internal address', async () => {
    const nothing = { statuses: [], hasMore: false, lists: [] };
    expect((await ask({ content: 'not an asset' })).body).toEqual({ code: 'parse-error', ...nothing });
    expect((await ask({ content: 'chrome://settings' })).body).toEqual({
      asset: { type: 'URL', content: 'chrome://settings' },
      code: 'internal-scheme',
      ...nothing,
    });
  });

  it.each([{}, { content: '' }, { content: 7 }, { content: 'x'.repeat(4_097) }])(
    'returns 400 for the body %j',
    async (body) => {
      expect(await ask(body)).toMatchObject({ status: 400, body: { code: 'BAD_REQUEST' } });
    },
  );

  it('requires a key with the scope read', async () => {
    const writer = await app.issueKey({ organization: 'acme', scopes: ['write'] });
    expect((await ask({ content: 'a.example' }, writer)).status).toBe(403);
  });
});
