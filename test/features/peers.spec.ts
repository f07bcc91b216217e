import { beforeAll, describe, expect, it } from '@jest/globals';
import { parseContent } from '../../src/assets/parse-content.js';
import { sharedApp } from '../support/open-for-tests.js';

/** Inputs that a well-known package reads differently, seen on 2026-11-27, and what the service reads instead. */
const CONTENTS: readonly (readonly [input: string, reading: string, peer: string])[] = [
  ['example.бел', 'URL example.xn--90ais', 'parse-domain 8.4.0: invalid'],
  ['a-.example.com', 'URL a-.example.com', 'tldts 7.5.4: no domain, but browsers open the host'],
  ['-a.example.com', 'URL -a.example.com', 'tldts 7.5.4: no domain, but browsers open the host'],
  ['http://[::8.8.4.4]/', 'URL 8.8.4.4', 'ipaddr.js 2.5.0: another address than [::808:404]'],
  ['http://[::808:404]/', 'URL 8.8.4.4', 'ipaddr.js 2.5.0: another address than [::8.8.4.4]'],
  ['https://münchen.de/', 'URL xn--mnchen-3ya.de', 'ioc-extractor 8.2.0: nchen.de'],
  ['пример.рф', 'URL xn--e1afmkfd.xn--p1ai', 'ioc-extractor 8.2.0: nothing'],
  ['300.1.1.1', 'parse-error', 'ioc-extractor 8.2.0: 0.1.1.1'],
  ['1[.]1.1.1', 'URL 1.1.1.1', 'fanger 0.3.1 writes one dot in brackets only'],
  ['hxxps://evil.example[.]com/a', 'URL evil.example.com', 'fanger 0.3.1 writes one dot in brackets only'],
  [
    'ipfs://QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKTi1E',
    'IPFS bafybeie5nqv6kd3qnfjupgvz34woh3oksc3iau6abmyajn7qvtf47pxkue',
    'is-ipfs 8.0.4: not valid',
  ],
  [
    'BAFYBEIE5NQV6KD3QNFJUPGVZ34WOH3OKSC3IAU6ABMYAJN7QVTF47PXKUE',
    'IPFS bafybeie5nqv6kd3qnfjupgvz34woh3oksc3iau6abmyajn7qvtf47pxkue',
    'multiformats 14.0.5 and is-ipfs 8.0.4: not valid',
  ],
];

it.each(CONTENTS)('The content %s is read as %s (%s)', (input, reading) => {
  const { parsed, code } = parseContent(input);
  expect(parsed === undefined ? code : `${parsed.type} ${parsed.name}`).toBe(reading);
});

const AT = '2026-03-01T12:00:00.000Z';
const threat = (id: string) => ({
  specversion: '1.0',
  id,
  source: 'https://upstream.example',
  type: 'ThreatStatusChanged',
  time: AT,
  data: {
    organization: 'acme',
    threatId: id === '' ? 'none' : id,
    asset: { type: 'URL', content: 'peers.example' },
    status: 'APPROVED',
    createdAt: AT,
    updatedAt: AT,
  },
});

describe('An event that cloudevents 10.0.0 reads or writes differently', () => {
  const app = sharedApp();
  let key: string;
  beforeAll(async () => {
    key = await app.issueKey({ scopes: ['ingest'] });
  });

  const send = async (body: string, headers: Record<string, string>) => {
    const response = await fetch(`${app.url}/v2/events`, {
      method: 'POST',
      headers: { 'x-api-key': key, ...headers },
      body,
    });
    const { accepted, rejected } = (await response.json()) as { accepted?: number; rejected?: unknown[] };
    return { status: response.status, accepted, rejected: rejected?.length };
  };
  const structured = (event: object, type = 'application/cloudevents+json; charset=utf-8') =>
    send(JSON.stringify(event), { 'content-type': type });
  const binary = (event: ReturnType<typeof threat>, body: string, time = AT) =>
    send(body, {
      'content-type': 'application/json',
      'ce-specversion': '1.0',
      'ce-id': event.id,
      'ce-source': event.source,
      'ce-type': event.type,
      'ce-time': time,
    });
  const ACCEPTED = expect.objectContaining({ status: 200, accepted: 1 });
  const REFUSED = expect.objectContaining({ status: 400 });

  it.each([
    ['data: false, which the SDK loses', { ...threat('false-data'), data: false }],
    [
      'an impossible time, for which the SDK takes the present one',
      { ...threat('no-day'), time: '2026-02-30T25:00:00Z' },
    ],
    ['a leap second', { ...threat('leap'), time: '2016-12-31T23:59:60Z' }],
    ['an empty id, which the SDK replaces at each attempt', threat('')],
    ['data beside data_base64', { ...threat('both'), data_base64: 'e30=' }],
  ])('is refused with %s', async (_, event) => {
    expect(await structured(event)).toEqual(REFUSED);
  });

  it('is accepted without a space in the media type, which the SDK refuses', async () => {
    expect(await structured(threat('no-space'), 'application/cloudevents+json;charset=utf-8')).toEqual(ACCEPTED);
    expect(await structured(threat('one-space'))).toEqual(ACCEPTED);
  });

  it('is accepted with microseconds and an offset in both modes, of which the SDK cuts one', async () => {
    const time = '2026-03-01T13:00:00.123456+01:00';
    expect(await structured({ ...threat('micro'), time })).toEqual(ACCEPTED);
    const event = threat('micro-binary');
    expect(await binary(event, JSON.stringify(event.data), time)).toEqual(ACCEPTED);
  });

  it('is accepted with data in base64, and refused in the URL-safe alphabet', async () => {
    const encoded = (id: string, encoding: 'base64' | 'base64url') => {
      const { data, ...rest } = threat(id);
      // The text has characters that the two alphabets write differently.
      const text = Buffer.from(
        JSON.stringify({ ...data, asset: { type: 'URL', content: 'https://peers.example/???>>>' } }),
      );
      return { ...rest, data_base64: text.toString(encoding) };
    };
    expect(await structured(encoded('base64', 'base64'))).toEqual(ACCEPTED);
    expect(await structured(encoded('base64url', 'base64url'))).toEqual(REFUSED);
  });

  it('is refused in binary mode with the body null, and accepted with a space before the object', async () => {
    const event = threat('binary');
    expect(await binary(event, 'null')).toEqual(REFUSED);
    expect(await binary(event, ` ${JSON.stringify(event.data)}`)).toEqual(ACCEPTED);
  });

  it.each([
    ['QUERY', '/v2/events', 405, 'fastify 5.12.8: 400'],
    ['GET', `/${'a'.repeat(150)}`, 404, 'fastify 5.12.8: 414'],
  ])('has a route whose answer to %s %s is %i (%s)', async (method, path, status) => {
    const response = await fetch(`${app.url}${path}`, { method, headers: { 'x-api-key': key } });
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ code: expect.any(String), message: expect.any(String) });
    if (status === 405) expect(response.headers.get('allow')).toContain('POST');
  });
});
