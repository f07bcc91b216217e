import { beforeAll, describe, expect, it } from '@jest/globals';
import { sharedApp } from '../../support/open-for-tests.js';
import { sendRaw } from '../../support/raw.js';

const METRICS = '/v2/organization/metrics';

const app = sharedApp();
let key: string;
beforeAll(async () => {
  key = await app.issueKey({ organization: 'acme', scopes: ['read', 'write', 'ingest'] });
});

const get = (path: string): Promise<Response> => fetch(app.url + path, { headers: { 'x-api-key': key } });

describe('Every response', () => {
  it('forbids caching and sniffing, and varies with the key', async () => {
    for (const path of ['/v2/organization/asset-groups', '/health/live', '/nothing', '/%', '/metrics']) {
      const { headers } = await get(path);
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

describe('An ambiguous request', () => {
  const post = `POST /v2/organization/asset-groups HTTP/1.1\r\nX-Api-Key: ${'KEY'}\r\nContent-Type: application/json\r\n`;
  const chunks = '\r\n5\r\n{"a":\r\n2\r\n1}\r\n0\r\n\r\n';

  it.each([
    ['two Host lines', `GET ${METRICS} HTTP/1.1\r\nHost: a\r\nhost: b\r\n`, '\r\n'],
    ['the same Host twice', `GET ${METRICS} HTTP/1.1\r\nHost: a\r\nHost: a\r\n`, '\r\n'],
    ['a coding before chunked', `${post}Host: a\r\nTransfer-Encoding: gzip, chunked\r\n`, chunks],
    ['identity before chunked', `${post}Host: a\r\nTransfer-Encoding: identity, chunked\r\n`, chunks],
    ['chunked on two lines', `${post}Host: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n`, chunks],
    [
      'a coding on a line before',
      `${post}Host: a\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n`,
      chunks,
    ],
  ])('gets 400, and its connection is closed: %s', async (_, head, rest) => {
    const { answer, isClosed } = await sendRaw(app.url, head.replace('KEY', key) + rest);
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    expect(answer).toMatch(/"code":"BAD_REQUEST"/);
    expect(isClosed).toBe(true);
  });

  it('is not a request with a chunked body, whatever the case of the coding', async () => {
    for (const written of ['chunked', 'Chunked', ' CHUNKED ']) {
      const head = `${post.replace('KEY', key)}Host: a\r\nConnection: close\r\nTransfer-Encoding:${written}\r\n`;
      const { answer } = await sendRaw(app.url, head + chunks);
      expect(answer).toContain('Group name is required');
    }
  });
});
