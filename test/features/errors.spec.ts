import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Pool } from 'pg';
import { issueApiKey, revokeApiKey } from '../../src/api-keys/api-keys.js';
import { createKey, KeyRing } from '../../src/api-keys/key-ring.js';
import { ExportPool, MetricsPool, RecordsPool, WatchPool } from '../../src/read-models/pools.js';
import { startApp } from '../support/app.js';
import { sharedApp } from '../support/open-for-tests.js';
import { projectToHead } from '../support/projecting.js';
import { REQUESTS } from '../support/requests.js';
import { sendRaw } from '../support/raw.js';

const GROUPS = '/v2/organization/asset-groups';
const METRICS = '/v2/organization/metrics';

const app = sharedApp();
let key: string;
beforeAll(async () => {
  key = await app.issueKey({ organization: 'acme' });
});

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: { readonly code: string; readonly message: string; readonly issues?: { message: string }[] };
}

const ask = async (method: string, path: string, init: RequestInit = {}): Promise<Answer> => {
  const response = await fetch(app.url + path, { method, ...init });
  return { status: response.status, headers: response.headers, body: (await response.json()) as Answer['body'] };
};

const asJson = (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}): RequestInit => ({
  headers: { 'x-api-key': key, 'content-type': 'application/json', ...headers },
  body,
});

/** Sends bytes unchanged, and returns what the server sends until it closes the connection. */
const answerTo = async (bytes: string): Promise<string> => (await sendRaw(app.url, bytes)).answer;

const bodyOf = (raw: string): unknown => JSON.parse(raw.slice(raw.indexOf('\r\n\r\n') + 4));

describe('The HTTP API', () => {
  it('returns 404 for an unknown route, with or without a key', async () => {
    for (const path of ['/', '/v2', '/v2/nothing', '/v1/organization/metrics', `${METRICS}/`, '/docs/nothing.js']) {
      const { status, headers, body } = await ask('GET', path);
      expect([path, status]).toEqual([path, 404]);
      expect(headers.get('content-type')).toMatch(/^application\/json/);
      expect(body).toEqual({ code: 'NOT_FOUND', message: 'Route not found' });
    }
  });

  it('returns 404 before the body is read', async () => {
    expect((await ask('POST', '/v2/nothing', asJson('{'))).status).toBe(404);
    expect((await ask('POST', '/v2/nothing', asJson('x', { 'content-type': 'text/odd' }))).status).toBe(404);
  });

  it('returns 405 with Allow if the path has other methods, before the key is checked', async () => {
    const metrics = await ask('DELETE', METRICS);
    expect(metrics.status).toBe(405);
    expect(metrics.headers.get('allow')).toBe('GET, HEAD');
    expect(metrics.body.code).toBe('METHOD_NOT_ALLOWED');
    const group = await ask('POST', `${GROUPS}/17`, asJson('{'));
    expect(group.status).toBe(405);
    expect(group.headers.get('allow')).toBe('DELETE, GET, HEAD, PATCH');
    expect((await ask('OPTIONS', GROUPS)).headers.get('allow')).toBe('GET, HEAD, POST');
  });

  it('returns 401 with the fixed message, before the body is read', async () => {
    const unauthorized = { code: 'UNAUTHORIZED', message: 'API key with organization access required' };
    for (const each of [undefined, '', 'x', `${key}, ${key}`, createKey()]) {
      const headers = { 'content-type': 'application/json', ...(each !== undefined && { 'x-api-key': each }) };
      const answer = await ask('POST', GROUPS, { headers, body: '{' });
      expect([each, answer.status, answer.body]).toMatchObject([each, 401, unauthorized]);
      expect(answer.headers.get('www-authenticate')).toBe('ApiKey realm="threat-protection"');
    }
    expect((await ask('GET', `${METRICS}?X-API-KEY=${key}`)).status).toBe(401);
    const ingest = await app.issueKey({ scopes: ['ingest'] });
    expect(await ask('GET', METRICS, { headers: { 'x-api-key': ingest } })).toMatchObject({
      status: 401,
      body: unauthorized,
    });
  });

  it('says in a 401 what is wrong with the header or the form of the key, and never whether the key exists', async () => {
    const form =
      'The value does not have the form of a key: a key is tp_ and 36 letters and digits, of which the last 6 are a ' +
      'checksum; send the whole key, as it was issued';
    const header = 'Send the key in the header X-API-KEY';
    const line = 'The value begins with X-API-KEY:; send only the key as the value of the header';
    const issuesOf = async (headers: Record<string, string>, path = METRICS): Promise<unknown> => {
      const { status, body } = await ask('GET', path, { headers });
      expect([status, body.message]).toEqual([401, 'API key with organization access required']);
      expect(JSON.stringify(body)).not.toContain(key.slice(3, 20));
      return body.issues?.map(({ message }) => message);
    };
    expect(await issuesOf({})).toEqual([header]);
    expect(await issuesOf({ 'x-api-key': '' })).toEqual([header]);
    for (const scheme of ['Bearer ', 'Token ', ''])
      expect(await issuesOf({ authorization: scheme + key })).toEqual([`${header} instead of Authorization`]);
    for (const name of ['X-API-KEY: ', 'x-api-key:', 'X-Api-Key : '])
      expect(await issuesOf({ 'x-api-key': name + key })).toEqual([line]);
    const mistyped = key.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'));
    for (const odd of ['x', key.slice(0, 20), `${key}x`, key.slice(3), `Bearer ${key}`, `${key}, ${key}`, mistyped])
      expect([odd, await issuesOf({ 'x-api-key': odd })]).toEqual([odd, [form]]);

    const revoked = await issueApiKey(app.log, { organization: 'acme', scopes: ['read'] });
    await revokeApiKey(app.log, revoked.id);
    await app.app.get(KeyRing).refresh();
    expect(await issuesOf({ 'x-api-key': revoked.key })).toBeUndefined();
    expect(await issuesOf({ 'x-api-key': createKey() })).toBeUndefined();
    expect(await issuesOf({ 'x-api-key': await app.issueKey({ scopes: ['ingest'] }) })).toEqual([
      'This key belongs to no organization, so it can only send events or read local lists; use a key that was issued for an organization',
    ]);
    const taxii = await fetch(`${app.url}/taxii2/`);
    expect([taxii.status, ((await taxii.json()) as { description: string }).description]).toEqual([
      401,
      `API key with organization access required; ${header}, or in Authorization as Bearer, Token or Basic`,
    ]);
  });

  it('returns 403 if the key lacks the scope, before the body is read', async () => {
    const reader = await app.issueKey({ organization: 'acme', scopes: ['read'] });
    const { status, body } = await ask('POST', GROUPS, asJson('{', { 'x-api-key': reader }));
    expect([status, body]).toEqual([403, { code: 'FORBIDDEN', message: 'The key lacks the scope write' }]);
  });

  it('returns 415 for a body of another media type, or without a media type', async () => {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/cloudevents+json',
      'nonsense',
    ]) {
      const { status, body } = await ask('POST', GROUPS, asJson('{"name":"a"}', { 'content-type': type }));
      expect([type, status]).toEqual([type, 415]);
      expect(body).toEqual({
        code: 'UNSUPPORTED_MEDIA_TYPE',
        message: 'The body must be sent as Content-Type: application/json',
      });
    }
    const bare = { headers: { 'x-api-key': key }, body: new Uint8Array([123, 125]) };
    expect((await ask('POST', GROUPS, bare)).status).toBe(415);
  });

  it('returns 413 for a body over 64 KiB, with or without Content-Length', async () => {
    const body = JSON.stringify({ name: 'n'.repeat(64 * 1024) });
    const declared = await ask('POST', GROUPS, asJson(body));
    expect([declared.status, declared.body]).toEqual([
      413,
      { code: 'PAYLOAD_TOO_LARGE', message: 'The body is larger than 65,536 bytes' },
    ]);
    const chunked = await ask('POST', GROUPS, {
      ...asJson(''),
      body: new Blob([body]).stream(),
      duplex: 'half',
    } as RequestInit);
    expect(chunked.status).toBe(413);
  });

  it('returns 400 for a body that is not JSON or not UTF-8', async () => {
    const notUtf8 = new Uint8Array([0x22, 0xff, 0x22]);
    const bodies = [
      ['{"name":', 'The body is not valid JSON'],
      ['{"name":"a"} more', 'The body is not valid JSON'],
      [notUtf8, 'The body is not valid JSON'],
    ] as const;
    for (const [sent, message] of bodies) {
      const { status, body } = await ask('POST', GROUPS, asJson(sent));
      expect([status, body]).toEqual([400, { code: 'BAD_REQUEST', message }]);
    }
  });

  it('returns 400 with the message of the missing field for an empty body, and for JSON that is not an object', async () => {
    for (const sent of ['', '[]', '"name"', '5', 'null', 'true', '{}', '[{"name":"a"}]']) {
      const { status, body } = await ask('POST', GROUPS, asJson(sent));
      expect([sent, status, body.message]).toEqual([sent, 400, 'Group name is required']);
    }
  });

  it('accepts a DELETE with a content type but no body, and a URL of any length up to the limit', async () => {
    const headers = { 'x-api-key': key, 'content-type': 'application/json' };
    for (const id of ['1', 'x'.repeat(7_000)]) {
      const { status, body } = await ask('DELETE', `${GROUPS}/${id}`, { headers });
      expect([status, body]).toEqual([404, { code: 'NOT_FOUND', message: 'Asset group not found' }]);
    }
  });

  it('returns 400 for a URL that cannot be decoded', async () => {
    const { status, body, headers } = await ask('GET', '/v2/%zz');
    expect([status, body.code]).toEqual([400, 'BAD_REQUEST']);
    expect(headers.get('x-request-id')).toMatch(/./);
  });

  it('returns 414 for a URL over 8 KiB, with or without a valid key', async () => {
    const tooLong = { code: 'URI_TOO_LONG', message: 'The URL exceeds 8,192 bytes' };
    const { status, body } = await ask('GET', `${METRICS}?x=${'a'.repeat(9_000)}`, { headers: { 'x-api-key': key } });
    expect([status, body]).toEqual([414, tooLong]);
    expect((await ask('GET', `${METRICS}?x=${'a'.repeat(9_000)}`)).status).toBe(414);
    const raw = await answerTo(`GET /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: a\r\n\r\n`);
    expect(raw).toMatch(/^HTTP\/1\.1 414 /);
    expect(bodyOf(raw)).toEqual(tooLong);
  });

  it('returns 431 for headers over 16 KiB', async () => {
    const raw = await answerTo(`GET ${METRICS} HTTP/1.1\r\nHost: a\r\nX-Long: ${'a'.repeat(20_000)}\r\n\r\n`);
    expect(raw).toMatch(/^HTTP\/1\.1 431 .*\r\n(.*\r\n)*content-type: application\/json/i);
    expect(bodyOf(raw)).toEqual({
      code: 'REQUEST_HEADER_FIELDS_TOO_LARGE',
      message: 'The headers are larger than 16 KiB',
    });
  });

  it('returns 400 and closes the connection for invalid HTTP and for conflicting body lengths', async () => {
    const post = `POST ${GROUPS} HTTP/1.1\r\nHost: a\r\nX-Api-Key: ${key}\r\nContent-Type: application/json\r\n`;
    for (const bytes of [
      'nonsense\r\n\r\n',
      `${post}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}`,
      `${post}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`,
      `${post}Content-Length: -1\r\n\r\n`,
      `${post}Transfer-Encoding: chunked\r\n\r\nzz\r\n`,
      `GET ${METRICS} HTTP/1.1\nHost: a\n X: folded\n\n`,
    ]) {
      const raw = await answerTo(bytes);
      expect(raw).toMatch(/^HTTP\/1\.1 400 /);
      expect(bodyOf(raw)).toEqual({ code: 'BAD_REQUEST', message: 'The request could not be read' });
    }
  });

  it('returns 400 with a body for an HTTP 1.1 request without a Host header', async () => {
    const raw = await answerTo('GET /health/live HTTP/1.1\r\nConnection: close\r\n\r\n');
    expect(raw).toMatch(/^HTTP\/1\.1 400 /);
    expect(bodyOf(raw)).toEqual({ code: 'BAD_REQUEST', message: 'The request has no Host header' });
    expect(await answerTo('GET /health/live HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('returns 415 for a body with a compression other than gzip', async () => {
    for (const encoding of ['deflate', 'br', 'gzip, gzip', 'x']) {
      const packed = await ask('POST', GROUPS, asJson('{}', { 'content-encoding': encoding }));
      expect([packed.status, packed.body]).toEqual([
        415,
        {
          code: 'UNSUPPORTED_MEDIA_TYPE',
          message: 'Send the body as Content-Encoding: gzip, or without Content-Encoding',
        },
      ]);
      expect(packed.headers.get('accept-encoding')).toBe('gzip');
    }
    expect(
      (await ask('POST', GROUPS, asJson('x', { 'content-type': 'text/odd' }))).headers.get('accept-encoding'),
    ).toBe(null);
    for (const encoding of ['identity', 'Identity']) {
      const plain = await ask('POST', GROUPS, asJson('{}', { 'content-encoding': encoding }));
      expect(plain.body.message).toBe('Group name is required');
    }
  });

  it('returns 405 for CONNECT', async () => {
    const raw = await answerTo('CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n');
    expect(raw).toMatch(/^HTTP\/1\.1 405 /);
    expect(bodyOf(raw)).toEqual({ code: 'METHOD_NOT_ALLOWED', message: 'Method not allowed' });
  });

  it('keeps a valid request id and replaces an invalid request id', async () => {
    const idOf = async (sent: string): Promise<string | null> =>
      (await ask('GET', '/v2/nothing', { headers: { 'x-request-id': sent } })).headers.get('x-request-id');
    expect(await idOf('trace-17:a.b_c')).toBe('trace-17:a.b_c');
    for (const odd of ['a b', 'a"b', 'x'.repeat(129), '<script>']) expect(await idOf(odd)).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('reveals nothing about the server', async () => {
    const { headers } = await ask('GET', '/v2/nothing');
    expect([...headers.keys()].sort()).toEqual([
      'cache-control',
      'connection',
      'content-length',
      'content-type',
      'date',
      'keep-alive',
      'vary',
      'x-content-type-options',
      'x-request-id',
    ]);
  });
});

describe('The rate limit of a key', () => {
  it('returns 429 with Retry-After once the limit is used up, for that key only, and reports the remaining requests before', async () => {
    const limited = await startApp({ env: { RATE_LIMIT_PER_MINUTE: '3' } });
    try {
      const [one, other] = [
        await limited.issueKey({ organization: 'acme' }),
        await limited.issueKey({ organization: 'acme' }),
      ];
      const get = (apiKey: string): Promise<Response> =>
        fetch(limited.url + GROUPS, { headers: { 'x-api-key': apiKey } });
      const remaining = [];
      for (let i = 0; i < 3; i++) {
        const response = await get(one);
        expect(response.status).toBe(200);
        expect(response.headers.get('ratelimit-limit')).toBe('3');
        remaining.push(response.headers.get('ratelimit-remaining'));
      }
      expect(remaining).toEqual(['2', '1', '0']);
      const refused = await get(one);
      expect(refused.status).toBe(429);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(refused.headers.get('retry-after')).toBe(refused.headers.get('ratelimit-reset'));
      expect(await refused.json()).toMatchObject({ code: 'TOO_MANY_REQUESTS' });
      expect((await get(other)).status).toBe(200);
    } finally {
      await limited.close();
    }
  });
});

describe('A request with a valid key to a path that needs none', () => {
  it.each(['/v2/nothing', '/docs'])('counts for the rate limit of the key: %s', async (path) => {
    const limited = await startApp({ env: { RATE_LIMIT_PER_MINUTE: '2', UNAUTHENTICATED_RATE_LIMIT_PER_MINUTE: '0' } });
    try {
      const [key, published] = [
        await limited.issueKey({ organization: 'acme' }),
        await limited.issueKey({ scopes: ['lists'] }),
      ];
      const statusesOf = async (apiKey: string): Promise<number[]> => {
        const statuses = [];
        for (let n = 0; n < 3; n += 1)
          statuses.push((await fetch(limited.url + path, { headers: { 'x-api-key': apiKey } })).status);
        return statuses;
      };
      for (const apiKey of [key, published])
        expect((await statusesOf(apiKey)).map((status) => status === 429)).toEqual([false, false, true]);
      expect((await fetch(limited.url + GROUPS, { headers: { 'x-api-key': key } })).status).toBe(429);
    } finally {
      await limited.close();
    }
  });
});

describe('The scope of a key', () => {
  it('is checked before its rate limit', async () => {
    const limited = await startApp({ env: { RATE_LIMIT_PER_MINUTE: '1' } });
    try {
      const reader = await limited.issueKey({ organization: 'acme', scopes: ['read'] });
      const statuses = [];
      for (const method of ['POST', 'POST', 'GET'])
        statuses.push((await fetch(limited.url + GROUPS, { method, headers: { 'x-api-key': reader } })).status);
      expect(statuses).toEqual([403, 403, 429]);
    } finally {
      await limited.close();
    }
  });
});

describe('The service, while the database is unavailable,', () => {
  const folder = mkdtempSync(join(tmpdir(), 'errors-'));
  const keyFile = join(folder, 'keys');

  it('returns 503 with Retry-After on every route, stays live, and reports the outage in the readiness check', async () => {
    writeFileSync(keyFile, `${Buffer.alloc(32, 7).toString('base64')}\n`);
    const disconnected = await startApp({ env: { WEBHOOK_MASTER_KEY_FILE: keyFile } });
    try {
      const key = await disconnected.issueKey({ organization: 'acme', scopes: ['read', 'write', 'ingest'] });
      // After the initial backfill, lists and the feed read only their own tables.
      await projectToHead(disconnected.log, disconnected.pool);
      expect((await disconnected.call('/v2/organization/feed', { key })).status).toBe(200);
      const pools = [MetricsPool, RecordsPool, ExportPool, WatchPool].map((pool) => disconnected.app.get<Pool>(pool));
      await Promise.all([disconnected.pool, ...pools].map((pool) => pool.end()));
      await disconnected.log.close();
      // fairness.spec.ts checks that these are all routes with a key.
      for (const [operation, request] of Object.entries(REQUESTS)) {
        const { path, ...options } = request(1, 'acme');
        const { status, headers, body } = await disconnected.call(path, { ...options, key });
        const isFromMemory = operation.startsWith('check');
        expect([operation, status]).toEqual([operation, isFromMemory ? 200 : 503]);
        if (isFromMemory) continue;
        expect(headers.get('retry-after')).toBe('1');
        expect(body).toEqual({
          code: 'SERVICE_UNAVAILABLE',
          message: expect.stringMatching(/try again$|it is safe to repeat the request$/),
        });
      }
      expect((await fetch(`${disconnected.url}/health/live`)).status).toBe(200);
      const ready = await fetch(`${disconnected.url}/health/ready`);
      expect(ready.status).toBe(503);
      expect(await ready.json()).toMatchObject({
        status: 'not-ready',
        parts: { readModels: { state: 'unavailable' } },
      });
      expect((await fetch(`${disconnected.url}/metrics`)).status).toBe(200);
    } finally {
      await disconnected.close().catch(() => undefined);
      rmSync(folder, { recursive: true });
    }
  });
});

describe('A request that does not arrive in time', () => {
  it('gets 408, for late headers and for a late body', async () => {
    const server = app.app.getHttpServer() as Server;
    expect([server.headersTimeout, server.requestTimeout]).toEqual([5_000, 10_000]);
    [server.headersTimeout, server.requestTimeout] = [500, 1_000];
    const late = [
      `GET ${METRICS} HTTP/1.1\r\nHost: a\r\n`,
      `POST ${GROUPS} HTTP/1.1\r\nHost: a\r\nX-Api-Key: ${key}\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{`,
    ];
    // The service checks every second; Node's default is every 30 seconds.
    for (const raw of await Promise.all(late.map((bytes) => answerTo(bytes)))) {
      expect(raw).toMatch(/^HTTP\/1\.1 408 /);
      expect(bodyOf(raw)).toEqual({ code: 'REQUEST_TIMEOUT', message: 'The request did not arrive in time' });
    }
  });
});
