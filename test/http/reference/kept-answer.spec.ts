import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fastify from 'fastify';
import { keepAnswer, onceMade, sendKept } from '../../../src/http/reference/kept-answer.js';

const server = fastify();
const TEXT = 'a text that stays '.repeat(100);

beforeAll(async () => {
  const kept = await keepAnswer('text/plain', TEXT);
  server.get('/', (request, reply) => sendKept(kept, request, reply));
});
afterAll(() => server.close());

const get = (headers: Record<string, string>) => server.inject({ url: '/', headers });

describe('A kept answer', () => {
  it('is compressed for clients that accept gzip, and for no others', async () => {
    const packed = await get({ 'accept-encoding': 'br, gzip;q=0.5' });
    expect(packed.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(packed.rawPayload).toString()).toBe(TEXT);
    const { headers, payload } = await get({ 'accept-encoding': 'gzip;q=0' });
    expect([headers['content-encoding'], headers.vary, payload]).toEqual([undefined, 'Accept-Encoding', TEXT]);
  });

  it('is not sent to who has it', async () => {
    const { etag, 'cache-control': caching } = (await get({})).headers;
    expect(caching).toBe('no-cache');
    for (const known of [String(etag), `"other", ${etag}`, '*']) {
      const { statusCode, payload, headers } = await get({ 'if-none-match': known });
      expect([statusCode, payload, headers.etag]).toEqual([304, '', etag]);
    }
    expect((await get({ 'if-none-match': '"other"' })).statusCode).toBe(200);
  });
});

describe('What is made once', () => {
  it('is made for all who ask at once, and tried again if it failed', async () => {
    let tries = 0;
    const made = onceMade(async () => {
      if (++tries === 1) throw new Error('no descriptor left');
      return tries;
    });
    const first = await Promise.allSettled([made(), made()]);
    expect(first.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await Promise.all([made(), made(), made()])).toEqual([2, 2, 2]);
  });
});
