import { beforeAll, describe, expect, it } from '@jest/globals';
import { sharedApp } from '../support/open-for-tests.js';

const app = sharedApp();
const ORGANIZATION = '/v2/organization';
let key: string;
beforeAll(async () => {
  key = await app.issueKey({ organization: 'acme', scopes: ['read', 'write', 'ingest'] });
});

const messageOf = async (path: string): Promise<[status: number, message: string]> => {
  const { status, body } = await app.call(path, { key });
  return [status, body?.message];
};

describe('A query parameter that only other routes have', () => {
  it.each([
    ['/metrics/timeline', 'knownAt'],
    ['/metrics/comparison', 'knownAt'],
    ['/metrics/false-positives', 'knownAt'],
    ['/metrics/false-positives', 'brandSlug'],
    ['/metrics', 'from'],
    ['/metrics', 'limit'],
    ['/threats', 'knownAt'],
    ['/threats.csv', 'limit'],
    ['/feed', 'startDate'],
    ['/asset-groups', 'cursor'],
    ['', 'knownAt'],
  ])('is 400 on GET /v2/organization%s: %s', async (path, name) => {
    expect(await messageOf(`${ORGANIZATION}${path}?${name}=2026-01-01`)).toEqual([
      400,
      `This route has no parameter ${name}: omit ${name}`,
    ]);
  });

  it('is rejected with the routes that have the parameter, at most three of them by name', async () => {
    const { body } = await app.call(`${ORGANIZATION}/metrics/timeline?knownAt=2026-01-01&cursor=a&nothing=1`, { key });
    expect(body).toEqual({
      code: 'BAD_REQUEST',
      message: 'This route has no parameters knownAt, cursor: omit knownAt, cursor',
      issues: [
        { message: 'knownAt is a parameter of GET /v2/organization/metrics' },
        {
          message: expect.stringMatching(
            /^cursor is a parameter of GET \/v2\/\S+, GET \/v2\/\S+, GET \/v2\/\S+ and \d+ other routes$/,
          ),
        },
      ],
    });
  });

  it('is rejected for HEAD as for GET, and for writes before anything is stored', async () => {
    const head = await fetch(`${app.url}${ORGANIZATION}/metrics/timeline?knownAt=2026-01-01`, {
      method: 'HEAD',
      headers: { 'x-api-key': key },
    });
    expect(head.status).toBe(400);
    const { status } = await app.call(`${ORGANIZATION}/asset-groups?limit=1`, {
      method: 'POST',
      key,
      json: { name: 'a' },
    });
    expect(status).toBe(400);
    expect((await app.call(`${ORGANIZATION}/asset-groups`, { key })).body.groups).toEqual([]);
  });

  it('is rejected after the key and the scope have been checked', async () => {
    const path = `${ORGANIZATION}/metrics/timeline?knownAt=2026-01-01`;
    expect((await app.call(path)).status).toBe(401);
    const writer = await app.issueKey({ organization: 'acme', scopes: ['write'] });
    expect((await app.call(path, { key: writer })).status).toBe(403);
  });

  it('is accepted in the handshake of a sender of events, whose URL is that of its deliveries', async () => {
    const headers = { 'webhook-request-origin': 'upstream.example' };
    const options = (query: string) => app.call(`/v2/events?${query}`, { method: 'OPTIONS', key, headers });
    expect((await options('dryRun=true')).status).toBe(200);
    expect((await options('limit=1')).status).toBe(200);
  });
});

describe('A query parameter that no route has', () => {
  it('is ignored', async () => {
    expect(
      (await messageOf(`${ORGANIZATION}/asset-groups?start=2026-01-01&KnownAt=x&constructor=1&__proto__=2`))[0],
    ).toBe(200);
  });

  it('is ignored outside /v2, whose routes have no parameter of the API', async () => {
    for (const path of ['/health/live', '/metrics', '/openapi.json'])
      expect([path, (await fetch(`${app.url}${path}?knownAt=2026-01-01`)).status]).toEqual([path, 200]);
    expect((await app.call('/taxii2/?limit=1&knownAt=2026-01-01', { key })).status).toBe(200);
  });
});
