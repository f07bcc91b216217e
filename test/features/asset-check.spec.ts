import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { AssetCheckResponse, BulkAssetCheckResponse } from '../../src/asset-check/asset-check.dto.js';
import { startApp, type TestApp } from '../support/app.js';
import { type ApiResponse, call } from '../support/call.js';
import { eventually } from '../support/eventually.js';
import { type Projecting, startProjecting } from '../support/projecting.js';
import { report as send, type Sent, sent } from '../support/upstream.js';

describe('POST /v2/asset/check', () => {
  let folder: string;
  let app: TestApp;
  let other: TestApp;
  let key: string;
  let projecting: Projecting;

  const post = (path: string, json: unknown, as = key, { url } = app, after?: ApiResponse): Promise<ApiResponse> =>
    call(`${url}/v2/asset/${path}`, { json, key: as, after });

  const check = async (content: string, at = app, after?: ApiResponse): Promise<AssetCheckResponse> => {
    const { status, body } = await post('check', { content, type: 'URL' }, key, at, after);
    expect(status).toBe(200);
    return body as AssetCheckResponse;
  };

  const report = async (...events: Sent[]): Promise<ApiResponse> =>
    send(app, await app.issueKey({ scopes: ['ingest'] }), events);

  const entry = (changeId: string, type: string, content: string, status: string, createdAt = '2026-03-01T10:00:00Z') =>
    sent('AssetStatusChanged', { changeId, asset: { type, content }, status, brandReviews: [], createdAt });

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'asset-check-'));
    await writeFile(
      join(folder, 'blocked.txt'),
      '# ours\nlisted.example\nblogs.example # hosts blogs\ngithub.io\ncom\n',
    );
    await writeFile(join(folder, 'allowed.json'), JSON.stringify(['good.example', 'listed.example', 7, 'no host']));
    await writeFile(join(folder, 'off.txt'), 'unlisted.example\n');
    const sources = {
      hostingSuffixes: ['blogs.example'],
      sources: [
        { id: 'own', kind: 'own' },
        { id: 'house', kind: 'list', format: 'plain', file: 'blocked.txt' },
        { id: 'friends', kind: 'list', format: 'json', verdict: 'ALLOWED', file: 'allowed.json' },
        { id: 'off', kind: 'list', format: 'plain', file: 'off.txt', mode: 'DISABLED' },
        { id: 'gone', kind: 'list', format: 'metamask', file: 'gone.json' },
      ],
    };
    await writeFile(join(folder, 'sources.json'), JSON.stringify(sources));
    const env = { SOURCES_FILE: join(folder, 'sources.json'), DATA_DIR: join(folder, 'data') };
    app = await startApp({ env });
    other = await startApp({ env, databaseUrl: app.config.databaseUrl });
    key = await app.issueKey({ organization: 'acme', scopes: ['read'] });
    projecting = startProjecting(app.log, app.pool);
  });

  afterAll(async () => {
    await projecting.stop();
    await other.close();
    await app.close();
    await rm(folder, { recursive: true });
  });

  it('returns the verdict, the deciding source, every source in configured order and a message', async () => {
    expect(await check('https://Listed.example/claim?x=1')).toEqual({
      status: 'BLOCKED',
      source: 'house',
      reason: 'external-source',
      sources: [
        { source: 'own', status: 'UNKNOWN', mode: 'ENABLED', reason: 'not-found' },
        { source: 'house', status: 'BLOCKED', mode: 'ENABLED', match: 'listed.example' },
        { source: 'friends', status: 'ALLOWED', mode: 'ENABLED', match: 'listed.example' },
        { source: 'off', status: 'UNKNOWN', mode: 'DISABLED' },
        { source: 'gone', status: 'UNKNOWN', mode: 'ENABLED', reason: 'source-error' },
      ],
      message: '"https://Listed.example/claim?x=1" is blocked: the source house has "listed.example" on its blocklist.',
      asset: { type: 'URL', content: 'listed.example' },
      cacheSeconds: 10,
    });
  });

  it('does not inherit from shipped or configured hosting suffixes', async () => {
    for (const content of ['someone.github.io', 'someone.blogs.example'])
      expect(await check(content)).toMatchObject({ status: 'UNKNOWN', source: 'own', reason: 'hosting-domain' });
  });

  it('returns a code for content that cannot be parsed and for internal addresses', async () => {
    const silent = ['own', 'house', 'friends', 'off', 'gone'].map((source) => ({
      source,
      status: 'UNKNOWN',
      mode: source === 'off' ? 'DISABLED' : 'ENABLED',
    }));
    for (const content of ['   ', 'hello world', 'http://'])
      expect(await check(content)).toEqual({
        status: 'UNKNOWN',
        source: 'own',
        reason: 'not-found',
        sources: silent,
        message: expect.any(String),
        code: 'parse-error',
        cacheSeconds: 300,
      });
    for (const content of ['chrome://settings', 'localhost:3000', 'http://192.168.0.1/'])
      expect(await check(content)).toMatchObject({
        status: 'UNKNOWN',
        code: 'internal-scheme',
        reason: 'not-found',
        sources: silent,
      });
  });

  it('returns UNKNOWN for unlisted content, and names the sources that failed', async () => {
    const { message, status } = await check('stranger.example');
    expect(status).toBe('UNKNOWN');
    expect(message).not.toMatch(/safe|secure|harmless|fine|trust/i);
    expect(message).toContain('gone');
  });

  it('rejects content that is missing, not a string, empty or too long', async () => {
    for (const body of [{}, { content: null }, { content: 7 }, { content: '' }, { content: ['x'] }]) {
      expect(await post('check', body)).toMatchObject({
        status: 400,
        body: { code: 'BAD_REQUEST', message: 'Content is required' },
      });
    }
    expect((await post('check', { content: '𝒂'.repeat(4_096) })).status).toBe(200);
    expect(await post('check', { content: '𝒂'.repeat(4_097) })).toMatchObject({
      status: 400,
      body: { message: 'Content must be at most 4096 characters' },
    });
  });

  it('requires a key with the scope read and an organization', async () => {
    expect((await post('check', { content: 'x.example' }, '')).status).toBe(401);
    const writer = await app.issueKey({ organization: 'acme', scopes: ['write'] });
    expect((await post('check', { content: 'x.example' }, writer)).status).toBe(403);
    expect((await post('check/bulk', { contents: ['x.example'] }, writer)).status).toBe(403);
  });

  it('finds own statuses of every type in every spelling, on every instance', async () => {
    const after = await report(
      entry('c1', 'URL', 'hxxps://Evil[.]example/claim', 'BLOCKED'),
      entry('c2', 'ADDRESS', '0xABCDEFabcdef0123456789ABCDEFabcdef012345', 'BLOCKED'),
      entry('c3', 'TWITTER', '@Evil_Support', 'BLOCKED'),
      entry('c4', 'PAGE', 'https://sites.google.com/view/evil/', 'BLOCKED'),
      entry('c5', 'TELEGRAM', 't.me/Evil_Support', 'ALLOWED'),
      entry('c6', 'EMAIL', 'Scam@Evil.example', 'BLOCKED'),
      entry('c7', 'URL', 'good.listed.example', 'ALLOWED'),
    );
    for (const at of [app, other]) {
      expect((await check('good.listed.example', at, after)).source).toBe('own');
      expect(await check('http://u:p@EVIL.example.:8080/x', at)).toMatchObject({
        status: 'BLOCKED',
        source: 'own',
        message:
          '"http://u:p@EVIL.example.:8080/x" is blocked: this service has "hxxps://Evil[.]example/claim" on its blocklist since 2026-03-01; to dispute this, see POST /v2/asset/disputes.',
      });
      expect(await check('evil.example', at)).not.toHaveProperty('reason');
      expect(await check('deep.sub.evil.example', at)).toMatchObject({ status: 'BLOCKED', reason: 'parent-domain' });
      for (const content of [
        '0xabcdefABCDEF0123456789abcdefabcdef012345',
        'https://x.com/evil_support/status/1',
        'https://twitter.com/Evil_Support',
        'https://sites.google.com/view/evil?usp=sharing',
        'mailto:scam@evil.example',
      ])
        expect(await check(content, at)).toMatchObject({ status: 'BLOCKED', source: 'own' });
      expect(await check('https://t.me/evil_support', at)).toMatchObject({ status: 'ALLOWED', source: 'own' });
      expect(await check('sites.google.com', at)).toMatchObject({ status: 'UNKNOWN' });
    }
  });

  it('checks up to 1,000 contents in bulk with the results of single checks, and returns a summary', async () => {
    const contents = ['listed.example', 'good.example', 'stranger.example', '', 'chrome://x', 'x'.repeat(5_000), 7];
    const { status, body } = await post('check/bulk', { contents });
    expect(status).toBe(200);
    const { results, summary } = body as BulkAssetCheckResponse;
    expect(results.slice(0, 3)).toEqual([
      await check('listed.example'),
      await check('good.example'),
      await check('stranger.example'),
    ]);
    expect(results.map(({ code }) => code)).toEqual([
      undefined,
      undefined,
      undefined,
      'parse-error',
      'internal-scheme',
      'parse-error',
      'parse-error',
    ]);
    // The missing list gives no result for the three readable contents.
    expect(summary).toEqual({ blocked: 1, allowed: 1, unknown: 1, errored: 4, incomplete: 3 });
    const many = await post('check/bulk', { contents: Array.from({ length: 1_000 }, () => 'ü'.repeat(2_500)) });
    expect(many).toMatchObject({ status: 200, body: { summary: { errored: 1_000, incomplete: 0 } } });
    for (const wrong of [
      {},
      { contents: [] },
      { contents: 'x' },
      { contents: Array.from({ length: 1_001 }, () => 'x') },
    ]) {
      expect(await post('check/bulk', wrong)).toMatchObject({
        status: 400,
        body: { message: 'Contents must be an array of 1 to 1000 strings' },
      });
    }
  });

  it('stops using a status when it expires, without any event', async () => {
    const expiring = (
      changeId: string,
      content: string,
      status: string,
      createdAt: string,
      expiresAt: number,
    ): Sent => {
      const one = entry(changeId, 'URL', content, status, createdAt);
      return { ...one, data: { ...one.data, expiresAt: new Date(expiresAt).toISOString() } };
    };
    const soon = Date.now() + 3_000;
    const hour = soon + 3_600_000;
    const after = await report(
      expiring('x1', 'short.example', 'BLOCKED', '2026-03-01T10:00:00Z', soon),
      // The newest entry decides until it expires, then the older one, which arrives later.
      expiring('x3', 'returns.example', 'ALLOWED', '2026-03-02T10:00:00Z', soon),
      entry('x2', 'URL', 'returns.example', 'BLOCKED', '2026-03-01T10:00:00Z'),
      expiring('x4', 'over.example', 'BLOCKED', '2026-03-01T10:00:00Z', Date.parse('2026-03-02T10:00:00Z')),
      expiring('x5', 'pay.returns.example', 'UNKNOWN', '2026-03-01T10:00:00Z', hour),
      entry('x6', 'URL', 'lasting.example', 'BLOCKED'),
    );
    const statuses = async (): Promise<unknown[]> => {
      const contents = ['short.example', 'sub.short.example', 'returns.example', 'pay.returns.example', 'over.example'];
      const { body } = await post('check/bulk', { contents }, key, app, after);
      return (body as BulkAssetCheckResponse).results.map(({ status }) => status);
    };
    expect(await statuses()).toEqual(['BLOCKED', 'BLOCKED', 'ALLOWED', 'ALLOWED', 'UNKNOWN']);
    const { cacheSeconds } = await check('short.example', app, after);
    expect(cacheSeconds).toBeLessThanOrEqual(3);
    expect(Date.now() + cacheSeconds * 1_000).toBeLessThanOrEqual(soon + 1_000);
    await eventually('the statuses have expired', () => Date.now() >= soon);
    expect(await statuses()).toEqual(['UNKNOWN', 'UNKNOWN', 'BLOCKED', 'BLOCKED', 'UNKNOWN']);
    expect((await check('lasting.example')).cacheSeconds).toBe(300);
    // The list `gone` does not answer, and could change this result.
    expect((await check('short.example')).cacheSeconds).toBe(10);
    expect((await check('no asset at all')).cacheSeconds).toBe(300);
  });

  it('uses the statuses in memory while the database is unavailable, and catches up afterwards', async () => {
    const before = await report(entry('o1', 'URL', 'before.example', 'BLOCKED'));
    expect((await check('before.example', app, before)).status).toBe('BLOCKED');
    await app.pool.query('alter table read.asset_statuses rename to asset_statuses_away');
    try {
      await eventually('several polls have failed', async () => {
        const { parts } = (await app.call('/health/ready')).body;
        return parts['asset-statuses'].detail.ageMs > 600;
      });
      expect((await check('before.example')).status).toBe('BLOCKED');
    } finally {
      await app.pool.query('alter table read.asset_statuses_away rename to asset_statuses');
    }
    const after = await report(entry('o2', 'URL', 'after.example', 'BLOCKED'));
    expect((await check('after.example', app, after)).status).toBe('BLOCKED');
  });

  it('reports the state of its lists in /health/ready and /metrics', async () => {
    const { parts } = (await app.call('/health/ready')).body;
    expect(parts['asset-statuses']).toMatchObject({ state: 'ok' });
    expect(parts['lists'].detail).toMatchObject({ house: { entries: 3 }, friends: { entries: 2 } });
    const { body: metrics } = await app.call('/metrics');
    expect(metrics).toContain('threat_protection_asset_check_list_entries{source="house"} 3');
    expect(metrics).toContain('threat_protection_asset_check_list_failing{source="gone"} 1');
  });

  it('checks the target of a deep link, a Markdown link or an encoded link', async () => {
    const reported = await report(
      entry('fc18', 'URL', 'fc18.example', 'BLOCKED'),
      entry('fc18-c', 'URL', 'metamask.app.link', 'ALLOWED'),
      entry('fc18-d', 'URL', 'go.cb-w.com', 'BLOCKED'),
      entry('fc18-e', 'URL', 'fc18-good.example', 'ALLOWED'),
    );
    const statusOf = async (content: string): Promise<string> => (await check(content, app, reported)).status;
    expect(await statusOf('go.cb-w.com')).toBe('BLOCKED');
    for (const content of [
      'metamask://dapp/fc18.example',
      'https://metamask.app.link/dapp/fc18.example',
      'https://link.metamask.io/dapp/fc18.example',
      'https://phantom.app/ul/browse/https%3A%2F%2Ffc18.example?ref=x',
      'trust://open_url?url=https://fc18.example',
      'googlechrome://navigate?url=https://fc18.example',
      'solana:https%3A%2F%2Ffc18.example%2Fpay%3Fid%3D1',
      'http%3A%2F%2Ffc18.example:80/',
      '<URL:https://fc18.example/x>',
      '[claim](https://fc18.example)',
      '[https://fc18-good.example](https://fc18.example)',
    ])
      expect({ content, status: await statusOf(content) }).toEqual({ content, status: 'BLOCKED' });
    // An ALLOWED status of the carrying host does not apply to the link; a BLOCKED status does.
    expect(await statusOf('https://metamask.app.link/')).toBe('ALLOWED');
    expect(await statusOf('https://metamask.app.link/dapp/fc18-unknown.example')).toBe('UNKNOWN');
    expect(await statusOf('https://metamask.app.link/dapp/'.repeat(20))).toBe('UNKNOWN');
    expect(await statusOf('https://metamask.app.link/dapp/fc18-good.example')).toBe('ALLOWED');
    const carried = await check('https://go.cb-w.com/dapp?cb_url=https%3A%2F%2Ffc18-good.example');
    expect(carried).toMatchObject({ status: 'BLOCKED', asset: { type: 'URL', content: 'fc18-good.example' } });
  });
});
