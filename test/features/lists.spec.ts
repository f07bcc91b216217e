import { generateKeyPairSync, hash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { check, type List, updated } from '../../docs/examples/local-list.js';
import { issueApiKey, revokeApiKey } from '../../src/api-keys/api-keys.js';
import { redactAsset } from '../../src/cli/redacting/redact-asset.js';
import { TooManyRequests } from '../../src/errors.js';
import { AccessLogOutput } from '../../src/http/ops/access-log.js';
import { TimeSlices } from '../../src/flow/turns.js';
import { UnreadResponses } from '../../src/http/responses/unread-responses.js';
import { FollowedLists } from '../../src/lists/followed-lists.js';
import type { ApiResponse } from '../support/call.js';
import { eventually } from '../support/eventually.js';
import { sharedApp, sharedProjecting } from '../support/open-for-tests.js';
import { contentReporter } from '../support/upstream.js';

const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const PUBLIC_KEY = Buffer.from(publicKey.export({ format: 'jwk' }).x!, 'base64url').toString('base64');
const folder = mkdtempSync(join(tmpdir(), 'lists-'));
const LISTS_SIGNING_KEY_FILE = join(folder, 'key.pem');
writeFileSync(LISTS_SIGNING_KEY_FILE, privateKey.export({ format: 'pem', type: 'pkcs8' }));
afterAll(() => rmSync(folder, { recursive: true }));

const app = sharedApp({ env: { LISTS: 'on', ACCESS_LOG: 'on', LISTS_SIGNING_KEY_FILE } });
sharedProjecting(app);
const open = sharedApp({ env: { LISTS: 'public' } });
sharedProjecting(open);
const off = sharedApp();

let key: string;

const reportAll = contentReporter(() => app.log);
const report = (status: 'BLOCKED' | 'ALLOWED', ...contents: string[]): Promise<void> => reportAll(contents, { status });

/** The client of the docs with `all-8b`. */
class Client {
  held: List | undefined;

  async update(wait?: number): Promise<ApiResponse> {
    const since = this.held === undefined ? '' : `?since=${this.held.version}`;
    const headers = { ...(wait !== undefined && { prefer: `wait=${wait}` }) };
    const response = await app.call(`/v2/lists/all-8b${since}`, { key, headers });
    this.held = updated(response.body, 'all-8b', this.held, PUBLIC_KEY);
    return response;
  }

  check(content: string): string {
    return check(content, { list: this.held!, ask: { ...this.held!, hashes: new BigUint64Array() } });
  }
}

const untilBuilt = (from: typeof app, path: string): Promise<void> =>
  eventually('lists are built', async () => (await from.call(path, { key })).status === 200);

beforeAll(async () => {
  key = await app.issueKey({ scopes: ['lists'] });
  await untilBuilt(app, '/v2/lists');
});

describe('Local lists', () => {
  it('have a status in seconds, as an update whose checksum and signature are right, and lose it again', async () => {
    const client = new Client();
    expect((await client.update()).body.partialUpdate).toBe(false);
    expect(client.check('https://a.evil.example/path')).toBe('NOT_LISTED');
    // An update that is larger than the list is no update.
    await report('BLOCKED', 'evil.example', 'one.example', 'two.example', 'three.example');
    const startedAt = performance.now();
    expect((await client.update(25)).body.partialUpdate).toBe(true);
    expect(performance.now() - startedAt).toBeLessThan(20_000);
    expect(client.check('https://a.evil.example/path')).toBe('LISTED');
    await report('ALLOWED', 'evil.example');
    expect((await client.update(25)).body.partialUpdate).toBe(true);
    expect(client.check('https://a.evil.example/path')).toBe('NOT_LISTED');
    const late = new Client();
    await late.update();
    expect(late.held!.hashes).toEqual(client.held!.hashes);
  });

  it('lose a status when it expires, without an event', async () => {
    const client = new Client();
    await client.update();
    const expiresAt = Date.now() + 6_000;
    await reportAll(['brief.example'], { status: 'BLOCKED', expiresAt: new Date(expiresAt).toISOString() });
    await client.update(25);
    expect(client.check('brief.example')).toBe('LISTED');
    await client.update(25);
    expect(client.check('brief.example')).toBe('NOT_LISTED');
    expect(Date.now()).toBeGreaterThanOrEqual(expiresAt);
    // The limit is 3 s; the rest is for a busy machine.
    expect(Date.now()).toBeLessThan(expiresAt + 10_000);
  });

  it('lose a redacted status with the next version', async () => {
    const client = new Client();
    await client.update();
    await report('BLOCKED', 'secret.example');
    await client.update(25);
    expect(client.check('secret.example')).toBe('LISTED');
    await redactAsset(app, 'secret.example', 'operator');
    await client.update(25);
    expect(client.check('secret.example')).toBe('NOT_LISTED');
  });

  it('are described with the key that signs them', async () => {
    const { body, headers } = await app.call('/v2/lists', { key });
    expect(body.map(({ name }: { name: string }) => name)).toEqual(['all-8b', 'own-8b', 'ask-8b']);
    expect(body[0]).toMatchObject({ covers: ['own'], notCovered: [], validSeconds: 86_400 });
    expect(body[0].publicKey).toBe(PUBLIC_KEY);
    const { status } = await app.call('/v2/lists', { key, headers: { 'if-none-match': headers.get('etag')! } });
    expect(status).toBe(304);
  });

  it('may be cached, and are not sent again to a client that has them', async () => {
    const { headers } = await app.call('/v2/lists/own-8b', { key });
    expect(headers.get('cache-control')).toBe('public, max-age=5');
    expect(headers.get('access-control-allow-origin')).toBe('*');
    const again = { key, headers: { 'if-none-match': headers.get('etag')!, prefer: 'wait=1' } };
    const startedAt = performance.now();
    const { status, headers: ofAgain } = await app.call('/v2/lists/own-8b', again);
    expect([status, ofAgain.get('preference-applied')]).toEqual([304, 'wait=1']);
    expect(performance.now() - startedAt).toBeGreaterThan(900);
  });

  it('are sent as bytes to clients without a decoder', async () => {
    const response = await fetch(`${app.url}/v2/lists/ask-8b`, {
      headers: { 'x-api-key': key, accept: 'application/octet-stream' },
    });
    const bytes = new Uint8Array(await response.arrayBuffer());
    const { body } = await app.call('/v2/lists', { key });
    const described = body.find(({ name }: { name: string }) => name === 'ask-8b');
    expect([hash('sha256', bytes), bytes.length / 8]).toEqual([described.sha256, described.entries]);
    expect(response.headers.get('list-version')).toBe(described.version);
    expect(response.headers.get('list-signature')).toBe(described.signature);
  });

  it.each([
    ['/v2/lists/none', {}, 404],
    ['/v2/lists/all-8b?since=yesterday', {}, 400],
    ['/v2/lists/all-8b?since=1-0123456789abcdef', { accept: 'application/octet-stream' }, 400],
    ['/v2/lists/all-8b', { accept: 'text/html' }, 406],
  ])('answer %s with %j by %i, which scripts of other origins may read', async (path, headers, expected) => {
    const { status, headers: sentBack } = await app.call(path, { key, headers });
    expect([status, sentBack.get('access-control-allow-origin')]).toEqual([expected, '*']);
    expect(sentBack.get('cache-control')).toBe('private, no-store');
  });

  it('are sent whole for a version of another log', async () => {
    const { body } = await app.call('/v2/lists/all-8b?since=1-0123456789abcdef', { key });
    expect(body.partialUpdate).toBe(false);
  });

  it('are refused in plain JSON, which is not cached, if too many responses are unread', async () => {
    const charge = jest.spyOn(UnreadResponses.prototype, 'charge').mockImplementationOnce(() => {
      throw new TooManyRequests(1);
    });
    const headers = { 'accept-encoding': 'gzip' };
    const { status, headers: sentBack, body } = await app.call('/v2/lists/all-8b', { key, headers });
    charge.mockRestore();
    expect([status, body.code]).toEqual([429, 'TOO_MANY_REQUESTS']);
    const names = ['content-encoding', 'etag', 'cache-control'];
    expect(names.map((name) => sentBack.get(name))).toEqual([null, null, 'private, no-store']);
    expect((await app.call('/v2/lists/all-8b', { key, headers })).headers.get('content-encoding')).toBe('gzip');
  });

  it.each([
    '/v2/lists/all-8b',
    '/v2/lists/all-8b/metamask/v1/stalelist',
    '/v2/lists/all-8b/metamask/v2/diffsSince/0',
    '/v5/hashLists:batchGet?names=all-4b',
    '/v5/hashList/all-4b',
  ])('let other requests run between those that share the response of %s', async (path) => {
    const waitForTurn = jest.spyOn(TimeSlices.prototype, 'waitForTurn');
    const { status } = await app.call(path, { key });
    const turns = waitForTurn.mock.calls.length;
    waitForTurn.mockRestore();
    expect([status, turns]).toEqual([200, 1]);
  });

  it('let browsers send the headers', async () => {
    for (const path of [
      '/v2/lists',
      '/v2/lists/all-8b',
      '/v2/lists/all-8b/metamask/v1/stalelist',
      '/v2/lists/all-8b/metamask/v2/diffsSince/0',
      '/v2/lists/all-8b/metamask/v1/request-blocklist',
      '/v5/hashLists:batchGet',
      '/v5/hashList/all-4b',
      '/v5/hashes:search',
    ]) {
      const { status, headers } = await app.call(path, { method: 'OPTIONS' });
      expect([status, headers.get('access-control-allow-origin')]).toEqual([204, '*']);
      expect(headers.get('access-control-allow-headers')).toContain('X-API-KEY');
      const post = await app.call(path, { method: 'POST', key });
      expect([path, post.status, post.headers.get('allow')]).toEqual([path, 405, 'GET, HEAD, OPTIONS']);
    }
  });
});

describe('A key with the scope lists', () => {
  it('reads the lists and nothing else, and no other key reads them', async () => {
    const ofAcme = await app.issueKey({ organization: 'acme', scopes: ['lists'] });
    const reader = await app.issueKey({ organization: 'acme', scopes: ['read', 'write'] });
    const statusOf = async (path: string, by: string, json?: object): Promise<number> =>
      (await app.call(path, { key: by, json })).status;
    expect(await statusOf('/v2/lists', ofAcme)).toBe(200);
    expect(await statusOf('/v2/lists', reader)).toBe(403);
    expect(await statusOf('/v2/organization', ofAcme)).toBe(403);
    expect(await statusOf('/v2/organization/feed', ofAcme)).toBe(403);
    expect(await statusOf('/v2/asset/check', ofAcme, { content: 'evil.example' })).toBe(403);
    expect((await app.call('/v2/lists')).status).toBe(401);
  });

  it('learns nothing from any other route, whatever it belongs to', async () => {
    const keys = [key, await app.issueKey({ organization: 'acme', scopes: ['lists'] })];
    const { paths } = (await app.call('/openapi.json')).body as { paths: Record<string, Record<string, unknown>> };
    const routes = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).flatMap((method) =>
        keys.map((by) => ({ method: method.toUpperCase(), path: path.replaceAll(/\{\w+\}/g, '1'), by })),
      ),
    );
    const others = routes.filter(({ path }) => path.startsWith('/v2/') && !path.startsWith('/v2/lists'));
    expect(others.length).toBeGreaterThan(100);
    for (const { method, path, by } of others) {
      const { status } = await app.call(path, { key: by, method });
      expect([method, path, [401, 403].includes(status)]).toEqual([method, path, true]);
    }
  });

  it('ends its waiting request when it is revoked', async () => {
    const issued = await issueApiKey(app.log, { scopes: ['lists'] });
    const { headers } = await app.call('/v2/lists/own-8b', { key: issued.key });
    const known = { 'if-none-match': headers.get('etag')!, prefer: 'wait=25' };
    const waiting = app.call('/v2/lists/own-8b', { key: issued.key, headers: known });
    const followed = app.app.get(FollowedLists, { strict: false });
    await eventually('the request waits', () => followed.size === 1);
    await revokeApiKey(app.log, issued.id);
    const revokedAt = performance.now();
    expect((await waiting).status).toBe(401);
    // The limit is one second; the rest is for a busy machine.
    expect(performance.now() - revokedAt).toBeLessThan(5_000);
    await eventually('nothing waits', () => followed.size === 0);
  });

  it('is accepted in the query of these routes only, and never logged', async () => {
    const lines: string[] = [];
    const write = jest.spyOn(app.app.get(AccessLogOutput), 'write').mockImplementation((text) => lines.push(text) > 0);
    expect((await app.call(`/v2/lists/all-8b?key=${key}`)).status).toBe(200);
    expect((await app.call(`/v2/lists/none?key=${key}`)).status).toBe(404);
    expect((await app.call(`/v2/lists/all-8b/more?key=${key}`)).status).toBe(404);
    expect((await app.call(`/v2/organization?key=${key}`)).status).toBe(401);
    const secret = await app.issueKey({ organization: 'acme', scopes: ['read', 'lists'] });
    const refused = await app.call(`/v2/lists/all-8b?key=${secret}`);
    expect([refused.status, refused.body.issues]).toEqual([
      401,
      [{ message: expect.stringContaining('in the header X-API-KEY') }],
    ]);
    expect((await app.call('/v2/lists/all-8b', { key: secret })).status).toBe(200);
    await eventually('lines are written', () => lines.join('').split('\n').length > 4);
    write.mockRestore();
    expect(lines.join('')).toContain('"route":"/v2/lists/:name"');
    expect(lines.join('')).not.toContain(key);
  });
});

it('LISTS=public needs no key, and a shared cache may answer everybody', async () => {
  await untilBuilt(open, '/v2/lists');
  const { status, headers, body } = await open.call('/v2/lists/all-8b');
  expect([status, body.signature]).toEqual([200, undefined]);
  expect(headers.get('vary')).toBe('Accept, Accept-Encoding');
});

it('LISTS=off has no routes and writes no rows', async () => {
  for (const path of ['/v2/lists', '/v2/lists/all-8b']) expect((await off.call(path, { key })).status).toBe(404);
  const { headers } = await off.call('/v2/lists', { method: 'OPTIONS' });
  expect(headers.get('access-control-allow-origin')).toBeNull();
  for (const rows of ['service.lists', 'service.list_versions', "read.projector_leases where lane = 'lists'"])
    expect((await off.pool.query(`select from ${rows}`)).rows).toEqual([]);
});
