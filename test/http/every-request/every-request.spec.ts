import { beforeAll, describe, expect, it } from '@jest/globals';
import { sharedApp } from '../../support/open-for-tests.js';
import { sendRaw } from '../../support/raw.js';

const METRICS = '/v2/organization/metrics';

const app = sharedApp();
let key: string;
beforeAll(async () => {
  key = await app.issueKey({ organization: 'acme', scopes: ['read', 'write', 'ingest'] });
});

const fetchPath = (path: string): Promise<Response> => fetch(app.url + path, { headers: { 'x-api-key': key } });

describe('Every response', () => {
  it('forbids caching and sniffing, and varies with the key', async () => {
    for (const path of ['/v2/organization/asset-groups', '/health/live', '/nothing', '/%', '/metrics']) {
      const { headers } = await fetchPath(path);
      expect([path, headers.get('cache-control')]).toEqual([path, 'private, no-store']);
      expect([path, headers.get('x-content-type-options')]).toEqual([path, 'nosniff']);
      expect([path, headers.get('vary')?.toLowerCase()]).toEqual([path, expect.stringContaining('x-api-key')]);
    }
  });

  it('has a request id and a date, even if Node itself rejects the request', async () => {
    const rejectedRequests: readonly (readonly [status: number, bytes: string])[] = [
      [400, 'nonsense\r\n\r\n'],
      [414, `GET /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: a\r\n\r\n`],
      [431, `GET / HTTP/1.1\r\nHost: a\r\nX-Long: ${'a'.repeat(20_000)}\r\n\r\n`],
      [405, 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n'],
      [400, 'GET /% HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'],
      [404, 'GET /nothing HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'],
      [401, `GET ${METRICS} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`],
    ];
    const ids = new Set<string>();
    for (const [status, bytes] of rejectedRequests) {
      const { answer } = await sendRaw(app.url, bytes);
      const head = answer.slice(0, answer.indexOf('\r\n\r\n'));
      expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
      const id = /^x-request-id: ([\w-]{36})\r?$/im.exec(head)?.[1];
      expect([status, id]).toEqual([status, expect.any(String)]);
      ids.add(id!);
      const date = /^date: (.*)$/im.exec(head)?.[1];
      expect(Math.abs(Date.parse(date ?? '') - Date.now())).toBeLessThan(60_000);
      expect(head).toMatch(/^cache-control: private, no-store\r?$/im);
    }
    expect(ids.size).toBe(rejectedRequests.length);
  });
});

/** A smuggled request, which a proxy could attribute to another client. */
const SMUGGLED = 'GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n';
const post = (headers: string, body = SMUGGLED): string =>
  `POST /v2/organization/asset-groups HTTP/1.1\r\nX-Api-Key: KEY\r\nContent-Type: application/json\r\n${headers}\r\n\r\n${body}`;
const get = (rest: string): string => `GET /health/live HTTP/1.1\r\n${rest}`;
const CHUNKS = '5\r\n{"a":\r\n2\r\n1}\r\n0\r\n\r\n';
const LAST_CHUNK = `0\r\n\r\n${SMUGGLED}`;

/** Requests whose end or whose target two parsers could read differently. */
const AMBIGUOUS: Readonly<Record<string, string>> = {
  'two Host lines': `GET ${METRICS} HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n`,
  'the same Host twice': `GET ${METRICS} HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n`,
  'no host': get('Connection: close\r\n\r\n'),
  'identity before chunked': post('Host: a\r\nTransfer-Encoding: identity, chunked', CHUNKS),
  'a coding on a line before': post('Host: a\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked', CHUNKS),
  'a length and chunks': post('Host: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked', LAST_CHUNK),
  'chunks and a length': post('Host: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5', LAST_CHUNK),
  'two lengths that differ': post('Host: a\r\nContent-Length: 2\r\nContent-Length: 50', `{}${SMUGGLED}`),
  'a list of lengths': post('Host: a\r\nContent-Length: 2, 2', `{}${SMUGGLED}`),
  'a signed length': post('Host: a\r\nContent-Length: +2', `{}${SMUGGLED}`),
  'a hexadecimal length': post('Host: a\r\nContent-Length: 0x2', `{}${SMUGGLED}`),
  'a negative length': post('Host: a\r\nContent-Length: -1'),
  'a length with a blank before its colon': post('Host: a\r\nContent-Length : 2', `{}${SMUGGLED}`),
  'another coding than chunked': post('Host: a\r\nTransfer-Encoding: xchunked', LAST_CHUNK),
  'chunked, then another coding': post('Host: a\r\nTransfer-Encoding: chunked, identity', LAST_CHUNK),
  'another coding before chunked': post('Host: a\r\nTransfer-Encoding: gzip, chunked', LAST_CHUNK),
  'chunked twice': post('Host: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked', LAST_CHUNK),
  'chunked in quotes': post('Host: a\r\nTransfer-Encoding: "chunked"', LAST_CHUNK),
  'chunked after a vertical tab': post('Host: a\r\nTransfer-Encoding:\x0bchunked', LAST_CHUNK),
  'a bad chunk size': post('Host: a\r\nTransfer-Encoding: chunked', `zz\r\n{}\r\n0\r\n\r\n${SMUGGLED}`),
  'a chunk size beyond 64 bits': post(
    'Host: a\r\nTransfer-Encoding: chunked',
    `${'f'.repeat(17)}\r\n{}\r\n0\r\n\r\n${SMUGGLED}`,
  ),
  'a chunk longer than it says': post('Host: a\r\nTransfer-Encoding: chunked', `1\r\n{}x\r\n0\r\n\r\n${SMUGGLED}`),
  'a chunk that ends with a bare LF': post('Host: a\r\nTransfer-Encoding: chunked', `2\n{}\n0\n\n${SMUGGLED}`),
  'lines that end with a bare LF': `GET /health/live HTTP/1.1\nHost: a\n\n${SMUGGLED}`,
  'a bare CR in a header': get(`Host: a\r\nX-A: b\rTransfer-Encoding: chunked\r\n\r\n${SMUGGLED}`),
  'a folded header': get(`Host: a\r\nX-A: b\r\n c: d\r\n\r\n${SMUGGLED}`),
  'a header without a name': get(`Host: a\r\n: b\r\n\r\n${SMUGGLED}`),
  'a NUL in a header': get(`Host: a\r\nX-A: b\0c\r\n\r\n${SMUGGLED}`),
  'another version of HTTP': `GET /health/live HTTP/9.9\r\nHost: a\r\n\r\n${SMUGGLED}`,
  'a blank in the address': `GET /health /live HTTP/1.1\r\nHost: a\r\n\r\n${SMUGGLED}`,
  'a carriage return in a request id': get(`Host: a\r\nX-Request-Id: a\rb: 1\r\n\r\n${SMUGGLED}`),
  'a NUL in a request id': get(`Host: a\r\nX-Request-Id: a\0b\r\n\r\n${SMUGGLED}`),
  'a vertical tab in a header': get(`Host: a\r\nX-Forwarded-For: 1.1.1.1\x0bX-Injected: 1\r\n\r\n${SMUGGLED}`),
};

describe('An ambiguous request', () => {
  it.each(Object.entries(AMBIGUOUS))('gets one response, 400, and its connection is closed: %s', async (_, bytes) => {
    const { answer, isClosed } = await sendRaw(app.url, bytes.replace('KEY', key));
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    expect(answer).toMatch(/"code":"BAD_REQUEST"/);
    expect(isClosed).toBe(true);
  });

  it('is not a request with a chunked body, whatever the case of the coding', async () => {
    for (const written of ['chunked', 'Chunked', ' CHUNKED ']) {
      const bytes = post(`Host: a\r\nConnection: close\r\nTransfer-Encoding:${written}`, CHUNKS);
      const { answer } = await sendRaw(app.url, bytes.replace('KEY', key));
      expect(answer).toContain('Group name is required');
    }
  });
});

const METHODS = ['TRACE', 'TRACK', 'DEBUG', 'CONNECT', 'PROPFIND', 'PURGE', 'PUT', 'OPTIONS', 'LINK', 'QUERY', 'get'];
const PATHS = [
  '/v2/organization/metrics',
  '/v2/organization',
  '/v2/organization/brands',
  '/v2/asset/check',
  '/v2/asset/check/bulk',
  '/v2/asset/history',
  '/v2/organization/asset-groups',
  '/v2/organization/asset-groups/1',
  '/v2/organization/asset-groups/1/assets',
  '/v2/organization/asset-groups/1/assets/remove',
  '/v2/events',
  '/health/live',
  '/health/ready',
  '/openapi.json',
  '/asyncapi.json',
  '/schemas',
  '/schemas/CloudEvent.json',
  '/',
  '/v1/organization/metrics',
  '/v2/organization/metrics/',
  '/v2//organization/metrics',
  '/V2/Organization/Metrics',
  '/.git/config',
  '/.env',
  '/package.json',
  '/docs/../package.json',
  '/docs/%2e%2e/%2e%2e/package.json',
  '/docs/..%5c..%5cpackage.json',
  '/admin',
  '/debug/pprof',
  '/server-status',
  '/actuator/env',
];
/** Routes that need no key. */
const OPEN = new Set([
  '/health/live',
  '/health/ready',
  '/openapi.json',
  '/asyncapi.json',
  '/schemas',
  '/schemas/CloudEvent.json',
]);
const BANNERS = ['server', 'x-powered-by', 'via', 'x-aspnet-version', 'x-runtime'];

describe('A method or a path that does not exist', () => {
  it('gets 400, 404 or 405 with a JSON error, 405 names the methods, and nothing of the request is echoed', async () => {
    const pairs = PATHS.flatMap((path) =>
      [...METHODS, ...(OPEN.has(path) || path.startsWith('/v2/') ? [] : ['GET'])]
        // The CloudEvents webhook handshake.
        .filter((method) => method !== 'OPTIONS' || path !== '/v2/events')
        .map((method) => [method, path] as const),
    );
    const wrong: unknown[] = [];
    for (const [method, path] of pairs) {
      const head = `${method} ${path} HTTP/1.1\r\nHost: forged.example\r\nX-Api-Key: ${key}\r\nX-Echo: echoed-by-trace\r\nX-Forwarded-Host: forged.example\r\nConnection: close\r\n\r\n`;
      const { answer } = await sendRaw(app.url, head);
      const isRejected = /^HTTP\/1\.1 40[045] /.test(answer) && /\r\n\r\n\{"code":"[A-Z_]+","message":"/.test(answer);
      const hasMethods = !answer.startsWith('HTTP/1.1 405') || /^allow: /im.test(answer);
      if (!isRejected || !hasMethods || /echoed-by-trace|forged\.example/.test(answer))
        wrong.push([method, path, answer]);
    }
    expect(wrong).toEqual([]);
    expect(pairs.length).toBeGreaterThan(300);
  });

  it('is not answered with the name of a server program, nor is any other request', async () => {
    for (const path of [...OPEN, '/v2/organization/asset-groups', '/v2/nowhere', '/docs']) {
      const { headers } = await fetchPath(path);
      expect([path, BANNERS.filter((banner) => headers.has(banner))]).toEqual([path, []]);
    }
  });
});
