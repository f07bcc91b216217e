import { request } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { fastify } from 'fastify';
import { createCompressor } from '../../../../src/http/responses/accept.js';
import { sharedApp } from '../../../support/open-for-tests.js';

const app = sharedApp();
let key: string;
beforeAll(async () => {
  key = await app.issueKey({ organization: 'acme' });
});

interface Answer {
  readonly encoding: string | undefined;
  readonly vary: string | undefined;
  readonly length: number;
  readonly bytes: Buffer;
}

const check = (contents: readonly string[], acceptEncoding?: string): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const headers = {
      'x-api-key': key,
      'content-type': 'application/json',
      ...(acceptEncoding !== undefined && { 'accept-encoding': acceptEncoding }),
    };
    request(`${app.url}/v2/asset/check/bulk`, { method: 'POST', headers }, (response) => {
      const pieces: Buffer[] = [];
      response
        .on('data', (piece: Buffer) => pieces.push(piece))
        .on('end', () => {
          const { 'content-encoding': encoding, 'content-length': length, vary } = response.headers;
          resolve({ encoding, vary, length: Number(length), bytes: Buffer.concat(pieces) });
        });
    })
      .on('error', reject)
      .end(JSON.stringify({ contents }));
  });

const MANY = Array.from({ length: 200 }, (_, n) => `${n}.example`);

describe('A response over 1 KiB', () => {
  it('is compressed only for clients that accept gzip', async () => {
    const plain = await check(MANY);
    const packed = await check(MANY, 'br, gzip;q=0.5');
    expect([packed.encoding, packed.length]).toEqual(['gzip', packed.bytes.length]);
    expect(packed.bytes.length).toBeLessThan(plain.bytes.length / 5);
    expect(gunzipSync(packed.bytes)).toEqual(plain.bytes);
    for (const refused of [undefined, 'gzip;q=0'])
      expect([refused, (await check(MANY, refused)).encoding]).toEqual([refused, undefined]);
  });

  it('has Vary: Accept-Encoding', async () => {
    for (const accepted of ['gzip', undefined]) expect((await check(MANY, accepted)).vary).toMatch(/Accept-Encoding/);
  });

  it('is sent uncompressed while two other responses are being compressed', async () => {
    const instance = fastify();
    instance.addHook('onSend', createCompressor());
    const text = JSON.stringify(MANY);
    instance.get('/', () => text);
    const all = Array.from({ length: 20 }, () => instance.inject({ url: '/', headers: { 'accept-encoding': 'gzip' } }));
    const answers = await Promise.all(all);
    for (const { headers, rawPayload } of answers)
      expect(String(headers['content-encoding'] === 'gzip' ? gunzipSync(rawPayload) : rawPayload)).toBe(text);
    const plain = answers.filter(({ headers }) => headers['content-encoding'] === undefined);
    expect(plain.length).toBeGreaterThan(0);
    expect(plain.length).toBeLessThan(19);
  });
});

it('A response under 1 KiB is sent uncompressed', async () => {
  const small = await check(['a.example'], 'gzip');
  expect(small.bytes.length).toBeLessThan(1_024);
  expect(small.encoding).toBeUndefined();
});
