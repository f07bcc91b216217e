import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { issueApiKey, revokeApiKey } from '../../src/api-keys/api-keys.js';
import { KeyRing } from '../../src/api-keys/key-ring.js';
import { JsonBoundsChecker } from '../../src/http/json.js';
import { sharedApp } from '../support/open-for-tests.js';
import { type ApiResponse } from '../support/call.js';
import { eventuallyPasses } from '../support/eventually.js';
import { emptyBlocks } from '../support/empty-blocks.js';
import { converse } from '../support/raw.js';
import { cpuMs } from '../support/cpu.js';

const MiB = 1024 * 1024;
const GROUPS = '/v2/organization/asset-groups';
const CHECK = '/v2/asset/check';
const BULK = '/v2/asset/check/bulk';

const app = sharedApp();
let key: string;
let other: string;
beforeAll(async () => {
  key = await app.issueKey({ organization: 'acme' });
  other = await app.issueKey({ organization: 'globex' });
});

const post = (
  path: string,
  body: string | Uint8Array<ArrayBuffer>,
  { 'x-api-key': as = key, ...headers }: Record<string, string> = {},
): Promise<ApiResponse> => app.call(path, { key: as, body, headers });

interface Exchange {
  readonly socket: Socket;
  /** Resolves with everything received so far, as soon as this matches `pattern`. */
  readonly until: (pattern: RegExp) => Promise<string>;
}

const open = (path: string, headers: Record<string, string | number>): Exchange => {
  const lines = Object.entries({ Host: 'a', 'X-Api-Key': key, 'Content-Type': 'application/json', ...headers });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const { socket, heard } = converse(app.url, `POST ${path} HTTP/1.1\r\n${head}\r\n`);
  const until = async (pattern: RegExp): Promise<string> => {
    await eventuallyPasses(async () => expect(heard.answer).toMatch(pattern));
    return heard.answer;
  };
  return { socket, until };
};

it.each(['gzip', 'x-gzip', 'X-GZIP', ' x-gzip '])(
  'A body of events is read with the content encoding %j',
  async (coding) => {
    const ingest = await app.issueKey({ scopes: ['ingest'] });
    const headers = { 'x-api-key': ingest, 'content-type': 'application/cloudevents-batch+json' };
    const answer = await post('/v2/events', gzipSync('[]'), { ...headers, 'content-encoding': coding });
    const plain = await post('/v2/events', '[]', headers);
    expect([answer.status, answer.body]).toEqual([plain.status, plain.body]);
    for (const other of ['xgzip', 'x-compress', 'gzip, gzip', 'br'])
      expect((await post('/v2/events', '[]', { ...headers, 'content-encoding': other })).status).toBe(415);
  },
);

describe('The body of a bulk check', () => {
  it('is rejected at the first invalid byte, before the client has sent the rest', async () => {
    const cases = [
      ['['.repeat(1_000), 'The body nests deeper than 32 levels'],
      [`{"odd":${'['.repeat(1_000)}`, 'The body nests deeper than 32 levels'],
      [`{"contents":[${'"",'.repeat(5_000)}`, 'The body has more than 4096 values'],
      [`{${'"a":1,'.repeat(5_000)}`, 'The body has more than 4096 values'],
      ['{"contents":["\xff', 'The body is not valid JSON'],
    ] as const;
    for (const [firstBytes, message] of cases) {
      const { socket, until } = open(BULK, { 'Content-Length': 5 * MiB });
      socket.write(Buffer.from(firstBytes, 'latin1'));
      expect(await until(/\}$/)).toMatch(/^HTTP\/1\.1 400 /);
      expect(await until(/\}$/)).toContain(message);
      socket.destroy();
    }
  });

  it('of 5 MiB does not delay other requests, whatever its content', async () => {
    const half = '['.repeat(2.4 * MiB);
    const bodies = [
      half + half.replaceAll('[', ']'),
      `{"contents":["a.example"],"odd":${half}${half.replaceAll('[', ']')}}`,
      `{"contents":[${'"",'.repeat(1.6 * MiB)}""]}`,
      `{"contents":["${'\\u4e00'.repeat(0.8 * MiB)}"]}`,
      `{"contents":["${'😀'.repeat(1.2 * MiB)}"]}`,
      `{"contents":[${'9'.repeat(4.9 * MiB)}]}`,
      `{"contents":[${' '.repeat(4.9 * MiB)}]}`,
      '"'.repeat(4.9 * MiB),
    ];
    for (const body of bodies) {
      let longest = 0;
      let last = cpuMs();
      const timer = setInterval(() => {
        longest = Math.max(longest, cpuMs() - last);
        last = cpuMs();
      }, 1);
      expect([200, 400]).toContain((await post(BULK, body)).status);
      clearInterval(timer);
      // This process is both client and service, so the limit is generous.
      expect(longest).toBeLessThan(1_000);
    }
  });

  it('may contain 1,000 contents of maximum length and unknown fields, and may be 5 MiB large', async () => {
    const contents = Array.from({ length: 1_000 }, (_, n) => `${n}.example/${'a'.repeat(4_000)}`);
    const body = JSON.stringify({ type: { odd: [1, { a: 'b' }] }, contents });
    expect((await post(BULK, body)).status).toBe(200);
    expect((await post(BULK, body.padEnd(5 * MiB))).status).toBe(200);
    expect((await post(BULK, body.padEnd(5 * MiB + 1))).status).toBe(413);
  });
});

it('64 KiB of brackets on any other route are harmless', async () => {
  const brackets = '['.repeat(32_000) + ']'.repeat(32_000);
  const before = cpuMs();
  for (let round = 0; round < 20; round += 1) expect((await post(CHECK, brackets)).status).toBe(400);
  expect((cpuMs() - before) / 20).toBeLessThan(200);
});

describe('The structural limits of JSON', () => {
  const watch = (text: string, pieces = 1, bounds = { depth: 2, values: 5 }): void => {
    const json = new JsonBoundsChecker(bounds);
    const bytes = Buffer.from(text);
    const size = Math.ceil(bytes.length / pieces);
    for (let start = 0; start < bytes.length; start += size) json.watch(bytes.subarray(start, start + size));
  };

  it('count levels and values across chunks, and ignore strings', () => {
    for (const pieces of [1, 2, 3, 1_000]) {
      expect(() => watch('{"a":["[[[{,,,::\\"[[,,,\\\\"]}', pieces)).not.toThrow();
      expect(() => watch('[[],[],[]]', pieces, { depth: 2, values: 7 })).not.toThrow();
      expect(() => watch('[[[', pieces)).toThrow('The body nests deeper than 2 levels');
      expect(() => watch('["\\\\",[[', pieces)).toThrow('deeper');
      expect(() => watch('[1,2,3,4,5]', pieces)).toThrow('The body has more than 5 values');
    }
  });
});

describe('The bodies of an organization', () => {
  it('are limited across all its keys: a request gets 429 before the body is sent, and other organizations are not affected', async () => {
    const second = await app.issueKey({ organization: 'acme' });
    const unfinished = [key, second, key].map((as) => open(BULK, { 'Content-Length': 5 * MiB, 'X-Api-Key': as }));
    for (const { socket } of unfinished) socket.write('{');
    await eventuallyPasses(async () => {
      const refused = open(BULK, { 'Content-Length': 5 * MiB, 'X-Api-Key': second });
      expect(await refused.until(/\}$/)).toMatch(/^HTTP\/1\.1 429 (.*\r\n)*retry-after: 1\r\n/i);
      refused.socket.destroy();
    });
    const large = JSON.stringify({ contents: ['a.example'] }).padEnd(5 * MiB);
    expect((await post(BULK, large, { 'x-api-key': other })).status).toBe(200);
    for (const { socket } of unfinished) socket.destroy();
    await eventuallyPasses(async () => expect((await post(BULK, large)).status).toBe(200));
  });

  it('are released from the limit however the request ends', async () => {
    const large = JSON.stringify({ contents: ['a.example'] }).padEnd(5 * MiB);
    expect((await post(BULK, large)).status).toBe(200);
    expect((await post(BULK, large.replace('{', '['))).status).toBe(400);
    expect((await post(BULK, '['.padEnd(5 * MiB, '['))).status).toBe(400);
    expect((await post(BULK, gzipSync('x'.repeat(5 * MiB + 1)), { 'content-encoding': 'gzip' })).status).toBe(413);
    const abandoned = open(BULK, { 'Content-Length': 5 * MiB });
    abandoned.socket.write('{"contents":["', () => abandoned.socket.destroy());
    const queued = open(BULK, { 'Content-Length': 5 * MiB });
    queued.socket.end(large);
    await new Promise((resolve) => queued.socket.on('close', resolve));
    const issued = await issueApiKey(app.log, { scopes: ['read', 'write'], organization: 'acme' });
    await app.app.get(KeyRing).refresh();
    const revoked = open(BULK, { 'Content-Length': 5 * MiB, 'X-Api-Key': issued.key, Expect: '100-continue' });
    await revoked.until(/^HTTP\/1\.1 100 /);
    revoked.socket.write('{');
    await revokeApiKey(app.log, issued.id);
    await revoked.until(/HTTP\/1\.1 401 /);
    revoked.socket.end(large.slice(1));
    await new Promise((resolve) => revoked.socket.on('close', resolve));
    // If the bytes of any request were still charged, three of these requests would exceed the limit.
    await eventuallyPasses(async () => {
      const answers = await Promise.all([post(BULK, large), post(BULK, large), post(BULK, large)]);
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    });
  });
});

describe('A gzip-compressed body', () => {
  const gzip = { 'content-encoding': 'gzip' };

  it('is accepted by every route that accepts JSON, events included', async () => {
    expect((await post(GROUPS, gzipSync('{"name":"packed"}'), gzip)).status).toBe(201);
    expect((await post(CHECK, gzipSync('{"content":"a.example"}'), gzip)).status).toBe(200);
    const contents = Array.from({ length: 1_000 }, (_, n) => `${n}.example`);
    expect((await post(BULK, gzipSync(JSON.stringify({ contents })), gzip)).status).toBe(200);
    const ingest = await app.issueKey({ scopes: ['ingest'] });
    const data = {
      organization: 'acme',
      reportId: 'r1',
      createdAt: '2026-03-01T00:00:00Z',
      updatedAt: '2026-03-01T00:00:00Z',
    };
    const event = {
      specversion: '1.0',
      id: 'e1',
      source: '/s',
      type: 'ReportFiled',
      time: '2026-03-01T00:00:00Z',
      data,
    };
    const type = { 'x-api-key': ingest, 'content-type': 'application/cloudevents-batch+json' };
    const packed = gzipSync(JSON.stringify([event]));
    expect(await post('/v2/events', packed, { ...gzip, ...type })).toMatchObject({
      status: 200,
      body: { accepted: 1 },
    });
  });

  it('gets 413 as soon as its compressed or uncompressed size exceeds the limit of the route', async () => {
    expect((await post(GROUPS, gzipSync(' '.repeat(64 * 1024 + 1)), gzip)).status).toBe(413);
    expect((await post(BULK, gzipSync(Buffer.alloc(20 * MiB)), gzip)).status).toBe(413);
    const { socket, until } = open(GROUPS, { 'Content-Encoding': 'gzip', 'Transfer-Encoding': 'chunked' });
    // Empty gzip members, which decompress to nothing.
    const nothing = Buffer.concat(Array.from({ length: 4_000 }, () => gzipSync('')));
    socket.write(Buffer.concat([Buffer.from(`${nothing.length.toString(16)}\r\n`), nothing]));
    expect(await until(/\}$/)).toMatch(/^HTTP\/1\.1 413 /);
    socket.destroy();
  });

  it('gets 400 as soon as it is larger than its content', async () => {
    // Empty blocks with a dynamic Huffman code take the most time to decompress, and decompress to nothing.
    const { socket, until } = open(BULK, { 'Content-Encoding': 'gzip', 'Content-Length': 4 * MiB });
    socket.write(emptyBlocks(256 * 1024));
    expect(await until(/\}$/)).toMatch(/^HTTP\/1\.1 400 (.*\r\n)*.*larger compressed than uncompressed/);
    socket.destroy();
  });

  it('may be slightly larger than its content, as gzip output for incompressible data is', async () => {
    const body = JSON.stringify({ contents: ['a.example'] }).padEnd(4 * MiB);
    const stored = gzipSync(body, { level: 0 });
    expect(stored.length).toBeGreaterThan(body.length);
    expect((await post(BULK, stored, gzip)).status).toBe(200);
  });

  it('gets 400 if it is not gzip or is truncated', async () => {
    const whole = gzipSync(`{"name":"${'n'.repeat(200)}"}`);
    for (const broken of [Buffer.from('{"name":"x"}'), whole.subarray(0, 20), whole.subarray(0, whole.length - 1)])
      expect(await post(GROUPS, new Uint8Array(broken), gzip)).toMatchObject({
        status: 400,
        body: { message: 'The body is not valid gzip' },
      });
  });
});

describe('A client that waits for 100 Continue', () => {
  const expecting = { Expect: '100-continue' };

  it('gets 100 Continue if the request passes the checks before the body', async () => {
    const body = '{"content":"a.example"}';
    const { socket, until } = open(CHECK, { ...expecting, 'Content-Length': body.length });
    await until(/^HTTP\/1\.1 100 Continue\r\n\r\n$/);
    socket.write(body);
    await until(/HTTP\/1\.1 200 OK/);
    socket.destroy();
  });

  it.each([
    ['401', { 'X-Api-Key': 'none', 'Content-Length': 10 }],
    ['413', { 'Content-Length': 70_000 }],
    ['415', { 'Content-Type': 'text/plain', 'Content-Length': 10 }],
    ['415', { 'Content-Encoding': 'br', 'Content-Length': 10 }],
  ])('gets %s instead of 100 Continue if the request is rejected before its body', async (status, headers) => {
    const { socket, until } = open(CHECK, { ...expecting, ...headers });
    const answer = await until(/\}$/);
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(answer).toMatch(/\r\nconnection: close\r\n/i);
    socket.destroy();
  });
});
