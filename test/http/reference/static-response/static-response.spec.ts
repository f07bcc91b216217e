import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fastify from 'fastify';
import { createStaticResponse, sendStaticResponse } from '../../../../src/http/reference/static-response.js';

const server = fastify();
const TEXT = 'a text that never changes '.repeat(100);

beforeAll(async () => {
  const response = await createStaticResponse('text/plain', TEXT);
  server.get('/', (request, reply) => sendStaticResponse(response, request, reply));
});
afterAll(() => server.close());

const get = (headers: Record<string, string>) => server.inject({ url: '/', headers });

describe('A static response', () => {
  it('is compressed only for clients that accept gzip', async () => {
    const gzipped = await get({ 'accept-encoding': 'br, gzip;q=0.5' });
    expect(gzipped.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(gzipped.rawPayload).toString()).toBe(TEXT);
    const { headers, payload } = await get({ 'accept-encoding': 'gzip;q=0' });
    expect([headers['content-encoding'], headers.vary, payload]).toEqual([undefined, 'Accept-Encoding', TEXT]);
  });

  it('is answered with 304 to a client that sends its entity tag', async () => {
    const { etag, 'cache-control': caching } = (await get({})).headers;
    expect(caching).toBe('no-cache');
    for (const known of [String(etag), `"other", ${etag}`, '*']) {
      const { statusCode, payload, headers } = await get({ 'if-none-match': known });
      expect([statusCode, payload, headers.etag]).toEqual([304, '', etag]);
    }
    expect((await get({ 'if-none-match': '"other"' })).statusCode).toBe(200);
  });
});
