import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp, type TestApp } from '../../support/app.js';

const METRICS = '/v2/organization/metrics';
const LIMIT = 20;

/** Sends requests one after another and counts the responses by status. */
const count = async (times: number, send: () => Promise<Response>): Promise<Record<number, number>> => {
  const counts: Record<number, number> = {};
  for (let i = 0; i < times; i++) {
    const { status } = await send();
    counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
};

describe('Requests without a valid key', () => {
  let app: TestApp;
  let validKey: string;
  let proxied: TestApp;
  beforeAll(async () => {
    const UNAUTHENTICATED_RATE_LIMIT_PER_MINUTE = String(LIMIT);
    app = await startApp({ env: { UNAUTHENTICATED_RATE_LIMIT_PER_MINUTE } });
    proxied = await startApp({ env: { UNAUTHENTICATED_RATE_LIMIT_PER_MINUTE, TRUST_PROXY: '127.0.0.1' } });
    validKey = await app.issueKey({ organization: 'acme' });
  });
  afterAll(() => Promise.all([app?.close(), proxied?.close()]));

  it('are rejected beyond the limit, on any path and with any invalid key', async () => {
    expect(
      await count(LIMIT, () => fetch(app.url + METRICS, { headers: { 'x-api-key': `tp_${Math.random()}` } })),
    ).toEqual({ 401: LIMIT });
    for (const path of [
      METRICS,
      '/v2/events',
      '/docs',
      '/docs/start.js',
      '/dashboard',
      '/dashboard/1/main.js',
      '/openapi.json',
      '/schemas/ReportFiled.json',
      '/nothing/here',
    ]) {
      const response = await fetch(app.url + path);
      expect([path, response.status]).toEqual([path, 429]);
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(await response.json()).toMatchObject({
        code: 'TOO_MANY_REQUESTS',
        message: expect.stringContaining('without a valid key'),
      });
    }
  });

  it('do not affect requests with a valid key from the same address', async () => {
    const headers = { 'x-api-key': validKey };
    expect(await count(LIMIT * 2, () => fetch(app.url + METRICS, { headers }))).toEqual({ 200: LIMIT * 2 });
    expect(await count(3, () => fetch(`${app.url}/docs`, { headers }))).toEqual({ 200: 3 });
    expect(await count(3, () => fetch(`${app.url}/nothing/here`, { headers }))).toEqual({ 404: 3 });
  });

  it('are not limited on the health and metrics routes', async () => {
    for (const path of ['/health/live', '/health/ready', '/metrics'])
      expect([path, await count(LIMIT * 2, () => fetch(app.url + path))]).toEqual([path, { 200: LIMIT * 2 }]);
  });

  it('are counted by the address that a trusted proxy forwards, and by network for IPv6', async () => {
    const from = (address: string) => () =>
      fetch(proxied.url + METRICS, { headers: { 'x-forwarded-for': `203.0.113.9, ${address}` } });
    expect(await count(LIMIT + 2, from('192.0.2.1'))).toEqual({ 401: LIMIT, 429: 2 });
    expect(await count(2, from('::ffff:192.0.2.1'))).toEqual({ 429: 2 });
    expect(await count(2, from('192.0.2.2'))).toEqual({ 401: 2 });
    let host = 0;
    expect(await count(LIMIT + 2, () => from(`2001:db8:0:1::${(host += 1)}`)())).toEqual({ 401: LIMIT, 429: 2 });
    expect(await count(2, from('2001:db8:0:2::1'))).toEqual({ 401: 2 });
  });

  it('are counted regardless of the ports in X-Forwarded-For, including the port of a trusted proxy', async () => {
    let port = 1_000;
    const countWithPorts = (times: number, entries: (port: number) => string): Promise<Record<number, number>> =>
      count(times, () => fetch(proxied.url + METRICS, { headers: { 'x-forwarded-for': entries((port += 1)) } }));
    const overLimit = { 401: LIMIT, 429: 2 };
    expect(await countWithPorts(LIMIT + 2, (ownPort) => `198.51.100.1:${ownPort}`)).toEqual(overLimit);
    expect(await countWithPorts(2, () => '198.51.100.1')).toEqual({ 429: 2 });
    expect(await countWithPorts(2, (ownPort) => `198.51.100.2:${ownPort}`)).toEqual({ 401: 2 });
    expect(await countWithPorts(LIMIT + 2, (ownPort) => `[2001:db8:0:3::1]:${ownPort}`)).toEqual(overLimit);
    expect(await countWithPorts(2, (ownPort) => `[2001:db8:0:4::1]:${ownPort}`)).toEqual({ 401: 2 });
    expect(await countWithPorts(2, (ownPort) => `198.51.100.1:${ownPort}, 127.0.0.1:${ownPort}`)).toEqual({ 429: 2 });
    expect(await countWithPorts(2, (ownPort) => `198.51.100.3:${ownPort}, 127.0.0.1:${ownPort}`)).toEqual({ 401: 2 });
  });

  it('cannot choose their address with X-Forwarded-For if no proxy is trusted', async () => {
    let host = 0;
    const headers = () => ({ 'x-forwarded-for': `192.0.2.${(host += 1)}` });
    expect(await count(5, () => fetch(app.url + METRICS, { headers: headers() }))).toEqual({ 429: 5 });
  });
});

describe('Requests with a valid key', () => {
  let app: TestApp;
  let key: string;
  beforeAll(async () => {
    app = await startApp({ env: { LISTS: 'on', RATE_LIMIT_PER_MINUTE: String(LIMIT), TRUST_PROXY: '127.0.0.1' } });
    key = await app.issueKey({ organization: 'acme', scopes: ['read', 'lists'] });
  });
  afterAll(() => app?.close());
  const from = (address: string, path: string) => () =>
    fetch(app.url + path, { headers: { 'x-api-key': key, 'x-forwarded-for': address } });

  it('are limited for each key, whatever their addresses', async () => {
    let host = 0;
    const anywhere = () => from(`192.0.2.${(host += 1)}`, METRICS)();
    expect(await count(LIMIT + 2, anywhere)).toEqual({ 200: LIMIT, 429: 2 });
  });

  it('are limited for each address of a key at local lists, so that nobody uses up the requests of others', async () => {
    const path = '/v2/lists/none';
    expect(await count(LIMIT + 2, from('198.51.100.1', path))).toEqual({ 404: LIMIT, 429: 2 });
    expect(await count(2, from('198.51.100.2', path))).toEqual({ 404: 2 });
  });
});
