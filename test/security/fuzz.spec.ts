import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { connect } from 'node:net';
import { startApp, type TestApp } from '../support/app.js';
import { Random } from '../support/random.js';

/** No request, however strange, is an error of ours: 0 answers of 5xx, every refusal with the flat body. */

/** The full dose is 100,000: `FUZZ_REQUESTS=100000 npm test -- security/fuzz`. */
const REQUESTS = Number(process.env['FUZZ_REQUESTS'] ?? 5_000);
const LANES = 8;

let app: TestApp;
let key: string;
beforeAll(async () => {
  app = await startApp();
  key = await app.issueKey({ organization: 'acme', scopes: ['read', 'write', 'ingest'] });
});
afterAll(() => app.close());

const INJECTIONS = [
  `' or 1=1--`,
  `"; drop table read.facts; --`,
  `'); select pg_sleep(5);--`,
  `\\'; copy (select 1) to program 'id';--`,
  `$1`,
  `$$`,
  `%27`,
  `{{7*7}}`,
  `\${process.exit()}`,
  `<script>`,
  `../../etc/passwd`,
  `\r\nX-Injected: 1`,
  `\u202e`,
  `🦊`,
  `\ud800`,
  `\0`,
  `a\0b`,
  '__proto__',
  'constructor',
  'toString',
  'null',
  'NaN',
  '-0',
  '1e999',
  '9'.repeat(400),
  'x'.repeat(5_000),
  '%',
  '%zz',
  '*',
  "E'\\x00'",
];

const value = (random: Random, depth = 0): unknown => {
  switch (random.int(depth > 3 ? 5 : 8)) {
    case 0:
      return random.pick(INJECTIONS);
    case 1:
      return random.pick([0, -1, 1.5, 2 ** 53, -(2 ** 63), 1e308]);
    case 2:
      return random.pick([null, true, false, '', ' ']);
    case 3:
      return random.pick([
        'acme',
        '2026-03-01',
        '2026-03-01T00:00:00Z',
        'BLOCKED',
        'URL',
        '1.0',
        'ThreatStatusChanged',
        'x.example',
      ]);
    case 4:
      return String.fromCharCode(...Array.from({ length: random.int(12) }, () => random.int(0x10000)));
    case 5:
      return Array.from({ length: random.int(4) }, () => value(random, depth + 1));
    default:
      return Object.fromEntries(
        Array.from({ length: random.int(6) }, () => [random.pick(NAMES), value(random, depth + 1)]),
      );
  }
};
const NAMES = [
  'name',
  'content',
  'contents',
  'specversion',
  'id',
  'source',
  'type',
  'time',
  'data',
  'organization',
  'threatId',
  'asset',
  'status',
  'createdAt',
  'updatedAt',
  'brandReviews',
  'changeId',
  '__proto__',
  'constructor',
  'toString',
  'data_base64',
  'datacontenttype',
];

const request = (random: Random): { method: string; path: string; headers: Record<string, string>; body?: string } => {
  const text = encodeURIComponent(random.pick(INJECTIONS).toWellFormed());
  const path = random.pick([
    '/v2/organization/metrics',
    `/v2/organization/metrics?startDate=${text}`,
    `/v2/organization/metrics?brandSlug=${text}`,
    '/v2/asset/check',
    '/v2/asset/check/bulk',
    '/v2/organization/asset-groups',
    `/v2/organization/asset-groups/${text}`,
    `/v2/organization/asset-groups/${random.int(5)}`,
    '/v2/events',
    `/v2/${text}`,
    '/health/ready',
    '/openapi.json',
  ]);
  const method = random.pick(['GET', 'POST', 'POST', 'POST', 'PATCH', 'DELETE', 'PUT', 'OPTIONS', 'HEAD']);
  const headers: Record<string, string> = random.chance(0.95) ? { 'x-api-key': key } : {};
  if (random.chance(0.1)) headers['idempotency-key'] = random.pick(['a', 'b c', 'x'.repeat(300)]);
  if (random.chance(0.1))
    headers[`ce-${random.pick(NAMES).replaceAll('_', '')}`] = random.pick(['1.0', 'x', '%00', '%zz', '"']);
  if (method === 'GET' || method === 'HEAD') return { method, path, headers };
  headers['content-type'] = random.pick([
    'application/json',
    'application/json',
    'application/json; charset=utf-8',
    'application/cloudevents+json',
    'application/cloudevents-batch+json',
    'text/plain',
    'application/x-www-form-urlencoded',
  ]);
  const whole =
    JSON.stringify(path.endsWith('/events') && random.chance(0.5) ? [value(random), value(random)] : value(random)) ??
    '';
  const body = random.chance(0.15) ? whole.slice(0, random.int(whole.length + 1)) : whole;
  return { method, path, headers, body };
};

it(`answers ${REQUESTS} random requests, none of them as its own error`, async () => {
  const random = new Random(2);
  const statuses = new Map<number, number>();
  const lane = async (): Promise<void> => {
    for (let round = 0; round < REQUESTS / LANES; round += 1) {
      const { method, path, headers, body } = request(random);
      const response = await fetch(app.url + path, { method, headers, ...(body !== undefined && { body }) });
      const text = await response.text();
      const { status } = response;
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      expect({ method, path, body, status, isOurs: status >= 500 }).toMatchObject({ isOurs: false });
      if (status >= 400 && method !== 'HEAD') {
        const error = JSON.parse(text) as Record<string, unknown>;
        expect(Object.keys(error).filter((name) => !['code', 'message', 'issues'].includes(name))).toEqual([]);
        expect(error).toMatchObject({ code: expect.stringMatching(/^[A-Z_]+$/), message: expect.stringMatching(/./) });
        expect(text).not.toMatch(/\bat .*\.(js|ts):|node_modules|select |insert |syntax error/i);
      }
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  for (const status of [200, 400, 401, 404, 405, 415]) expect(statuses.get(status)).toBeGreaterThan(0);
}, 900_000);

it('survives bytes that are no requests', async () => {
  const random = new Random(3);
  const { hostname, port } = new URL(app.url);
  const send = (bytes: Buffer): Promise<void> =>
    new Promise((resolve) => {
      const socket = connect(Number(port), hostname, () => socket.end(bytes));
      socket.setTimeout(3_000, () => socket.destroy());
      socket
        .on('error', () => {})
        .on('close', () => resolve())
        .resume();
    });
  const template = Buffer.from(
    'POST /v2/events HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 5\r\n\r\n{"a"}',
  );
  for (let round = 0; round < 300; round += 1) {
    const bytes = Buffer.from(template);
    for (let change = 0; change < 1 + random.int(6); change += 1) bytes[random.int(bytes.length)] = random.int(256);
    await send(bytes);
  }
  expect((await fetch(`${app.url}/health/live`)).status).toBe(200);
}, 60_000);
