import { request as httpRequest } from 'node:http';
import { Logger } from '@nestjs/common';
import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { CloudEvent, emitterFor, httpTransport, Mode } from 'cloudevents';
import { issueApiKey, revokeApiKey } from '../../src/api-keys/api-keys.js';
import { KeyRing } from '../../src/api-keys/key-ring.js';
import { startApp } from '../support/app.js';
import { sharedApp } from '../support/open-for-tests.js';

const BATCH = 'application/cloudevents-batch+json';
const STRUCTURED = 'application/cloudevents+json';
const AT = '2026-03-01T12:00:00.000Z';

const app = sharedApp();
let everyKey: string;
let acmeKey: string;
let readKey: string;

beforeAll(async () => {
  everyKey = await app.issueKey({ scopes: ['ingest'] });
  acmeKey = await app.issueKey({ organization: 'acme', scopes: ['ingest'] });
  readKey = await app.issueKey({ organization: 'acme', scopes: ['read', 'write'] });
});

const threat = (id: string, data: Record<string, unknown> = {}) => ({
  specversion: '1.0',
  id,
  source: 'https://upstream.example',
  type: 'ThreatStatusChanged',
  time: AT,
  data: {
    organization: 'acme',
    threatId: id,
    asset: { type: 'URL', content: 'phishing.example' },
    status: 'APPROVED',
    createdAt: AT,
    updatedAt: AT,
    ...data,
  },
});

const send = async (
  body: string | Buffer | undefined,
  {
    type = BATCH,
    key = everyKey,
    headers = {},
  }: { type?: string; key?: string; headers?: Record<string, string> } = {},
): Promise<{ status: number; body: Record<string, unknown> }> => {
  const response = await fetch(`${app.url}/v2/events`, {
    method: 'POST',
    headers: { ...(key && { 'x-api-key': key }), ...(type && { 'content-type': type }), ...headers },
    body: typeof body === 'string' ? Buffer.from(body) : (body as never),
  });
  expect(response.headers.get('content-type')).toMatch(/^application\/json/);
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
};
const sendBatch = (events: unknown[], key?: string) => send(JSON.stringify(events), { key });
const storedThreats = async (id: string): Promise<unknown[]> =>
  (await app.log.readStream(`threat-acme:${id}`, 0n, 10)).map(({ data }) => data);

describe('POST /v2/events', () => {
  it('counts a status of a page whose query is dropped, warns of it, and names it in the log without its content', async () => {
    const warn = jest.spyOn(Logger.prototype, 'warn');
    const status = {
      ...threat('page-status'),
      type: 'AssetStatusChanged',
      data: {
        changeId: 'change-of-a-page',
        asset: { type: 'PAGE', content: 'https://shop.unlisted.example/basket?session=1' },
        status: 'BLOCKED',
        brandReviews: [],
        createdAt: AT,
      },
    };
    expect((await sendBatch([status])).body).toMatchObject({
      accepted: 1,
      warnings: [{ index: 0, issues: [{ message: expect.stringContaining('applies to the page with any of them') }] }],
    });
    const lines = warn.mock.calls.map(([line]) => String(line)).filter((line) => line.includes('any parameters'));
    warn.mockRestore();
    expect(lines).toEqual([
      '1 statuses apply to a page with any parameters, because these do not name it; the latest changeId is change-of-a-page',
    ]);
    expect(String((await app.call('/metrics')).body)).toContain('threat_protection_ingest_pages_without_query_total 1');
  });

  it('accepts a page whose link holds a link that is not read, and warns that it concerns exactly this link', async () => {
    const content = 'https://gateway.unlisted.example/v4?u=https%3A%2F%2Fevil.example';
    const event = threat('link-in-link', { asset: { type: 'PAGE', content } });
    expect((await sendBatch([event])).body).toMatchObject({
      accepted: 1,
      warnings: [{ index: 0, issues: [{ message: expect.stringContaining('concerns exactly this link') }] }],
    });
  });

  it('warns upstream once per request of an organization to which no key belongs, and stores its events', async () => {
    const reports = ['stray-a', 'stray-b'].map((id) => threat(id, { organization: 'acmee' }));
    const warned = (ids: readonly string[]) => ({
      warnings: ids.map((id) => ({
        index: 0,
        id,
        issues: [{ message: expect.stringMatching(/^data\.organization: no API key belongs to acmee, /) }],
      })),
    });
    expect((await sendBatch(reports)).body).toMatchObject({ accepted: 2, ...warned(['stray-a']) });
    const dryRun = await fetch(`${app.url}/v2/events?dryRun=true`, {
      method: 'POST',
      headers: { 'x-api-key': everyKey, 'content-type': BATCH },
      body: JSON.stringify(reports),
    });
    expect(await dryRun.json()).toMatchObject({ duplicates: 2, ...warned(['stray-a']) });
    const { id } = await issueApiKey(app.log, { organization: 'acmee', scopes: ['read'] });
    await app.app.get(KeyRing).refresh();
    expect((await sendBatch(reports)).body).not.toHaveProperty('warnings');
    await revokeApiKey(app.log, id);
    await app.app.get(KeyRing).refresh();
    expect((await sendBatch(reports)).body).toMatchObject(warned(['stray-a']));
  });

  it('has stored an event in the log when it responds', async () => {
    const event = threat('one');
    expect(await send(JSON.stringify(event), { type: STRUCTURED })).toEqual({
      status: 200,
      body: { accepted: 1, duplicates: 0, rejected: [] },
    });
    expect(await storedThreats('one')).toEqual([event.data]);
  });

  it('accepts events from the CloudEvents SDK in structured and binary mode', async () => {
    const send = httpTransport(`${app.url}/v2/events`);
    for (const mode of [Mode.STRUCTURED, Mode.BINARY]) {
      const emit = emitterFor(send, { mode });
      const answer = (await emit(new CloudEvent(threat(`sdk-${mode}`)), {
        headers: { 'x-api-key': everyKey },
      } as never)) as { body: string };
      expect(JSON.parse(answer.body)).toEqual({ accepted: 1, duplicates: 0, rejected: [] });
      expect(await storedThreats(`sdk-${mode}`)).toHaveLength(1);
    }
  });

  it('stores an event in binary mode whose data has a JSON media type of its own', async () => {
    const { specversion, id, source, type, time, data } = { ...new CloudEvent(threat('vendor')) };
    const headers = {
      'ce-specversion': specversion,
      'ce-id': id,
      'ce-source': source,
      'ce-type': type,
      'ce-time': time!,
    };
    for (const media of ['application/vnd.example+json', 'Application/Vnd.Example+JSON; charset=utf-8'])
      expect(await send(JSON.stringify(data), { type: media, headers })).toMatchObject({ status: 200 });
    expect(await storedThreats('vendor')).toHaveLength(1);
  });

  it('stores 999 of 1,000 events if one is invalid, names the invalid event, and recognises the stored events when they are sent again', async () => {
    const events = Array.from({ length: 1_000 }, (_, index) => threat(`k-${index}`));
    events[500] = threat('k-500', { status: 'approved', createdAt: '2026-02-30T00:00:00Z' });
    const rejected = [
      {
        index: 500,
        id: 'k-500',
        issues: [
          { message: 'data.status must be 1 to 64 upper-case characters (A-Z 0-9 _ . : -)' },
          { message: 'data.createdAt must be an RFC 3339 date-time with an offset, in the years 1970 to 9999' },
        ],
      },
    ];
    expect(await sendBatch(events)).toEqual({ status: 200, body: { accepted: 999, duplicates: 0, rejected } });
    expect(await sendBatch(events)).toEqual({ status: 200, body: { accepted: 0, duplicates: 999, rejected } });
    expect(await storedThreats('k-999')).toHaveLength(1);
    expect(await storedThreats('k-500')).toEqual([]);
  });

  it('stores an event once, however many senders send it concurrently', async () => {
    const events = Array.from({ length: 50 }, (_, index) => threat(`race-${index}`));
    const answers = await Promise.all(Array.from({ length: 8 }, () => sendBatch(events)));
    const sum = (name: string): number => answers.reduce((total, { body }) => total + Number(body[name]), 0);
    expect([sum('accepted'), sum('duplicates')]).toEqual([50, 350]);
    expect(await storedThreats('race-7')).toHaveLength(1);
  });

  it('returns 400 if every event was rejected, with the index and the reason of each', async () => {
    expect(await sendBatch([1, threat('bad', { status: '' })])).toEqual({
      status: 400,
      body: {
        code: 'BAD_REQUEST',
        message: 'All 2 events were rejected',
        issues: [
          { message: 'event 0: the event must be a JSON object' },
          { message: 'event 1: data.status must be 1 to 64 upper-case characters (A-Z 0-9 _ . : -)' },
        ],
        rejected: [
          { index: 0, issues: [{ message: 'the event must be a JSON object' }] },
          {
            index: 1,
            id: 'bad',
            issues: [{ message: 'data.status must be 1 to 64 upper-case characters (A-Z 0-9 _ . : -)' }],
          },
        ],
      },
    });
  });

  it('returns 400 for a body without events, and 415 for another media type, in the same format', async () => {
    expect(await send('[{')).toEqual({
      status: 400,
      body: { code: 'BAD_REQUEST', message: 'The body is not JSON: unexpected end at byte 2' },
    });
    expect(await send(undefined)).toEqual({
      status: 400,
      body: { code: 'BAD_REQUEST', message: 'The body is not JSON: it is empty' },
    });
    const message = `Send ${BATCH}, ${STRUCTURED}, or application/json with ce- headers, in UTF-8`;
    for (const type of ['text/plain', `${BATCH}; charset=latin1`])
      expect(await send('[]', { type })).toEqual({ status: 415, body: { code: 'UNSUPPORTED_MEDIA_TYPE', message } });
  });

  it('returns 413 for 1,001 events and for more than 8 MiB, and accepts exactly 8 MiB', async () => {
    expect(await sendBatch(Array.from({ length: 1_001 }, () => threat('many')))).toEqual({
      status: 413,
      body: { code: 'PAYLOAD_TOO_LARGE', message: 'A batch may have at most 1000 events' },
    });
    const padded = (length: number) => JSON.stringify([threat('padded')]).padEnd(length);
    expect(await send(padded(8 * 1024 * 1024))).toMatchObject({ status: 200 });
    expect(await send(padded(8 * 1024 * 1024 + 1))).toMatchObject({
      status: 413,
      body: { code: 'PAYLOAD_TOO_LARGE', message: 'The body is larger than 8,388,608 bytes' },
    });
  });

  it('returns 401 and 403 before the body is read', async () => {
    const status = (key: string | undefined) =>
      new Promise<number | undefined>((resolve, reject) => {
        // The body is announced and never sent, so a response proves that the service did not wait for the body.
        const headers = { 'content-type': BATCH, 'content-length': '1000000', ...(key && { 'x-api-key': key }) };
        const pendingRequest = httpRequest(`${app.url}/v2/events`, { method: 'POST', headers }, (response) => {
          resolve(response.statusCode);
          pendingRequest.destroy();
        });
        pendingRequest.on('error', reject);
        pendingRequest.flushHeaders();
      });
    expect(await status(undefined)).toBe(401);
    expect(await status('tp_wrong')).toBe(401);
    expect(await status(readKey)).toBe(403);
  });

  it('accepts states dated up to a day ahead from upstream, and five minutes ahead from an organization’s own key', async () => {
    const inMinutes = (minutes: number): string => new Date(Date.now() + minutes * 60_000).toISOString();
    const dated = (id: string, minutes: number) => threat(id, { updatedAt: inMinutes(minutes) });
    expect((await sendBatch([dated('clock-ahead', 4), dated('own-hour', 6)], acmeKey)).body).toEqual({
      accepted: 1,
      duplicates: 0,
      rejected: [
        {
          index: 1,
          id: 'own-hour',
          issues: [
            { message: expect.stringMatching(/^data\.updatedAt is too far in the future: .*; for this key the/) },
          ],
        },
      ],
    });
    const ahead = { ...threat('own-time'), time: inMinutes(6) };
    expect(await sendBatch([ahead], acmeKey)).toMatchObject({ status: 400 });
    expect((await sendBatch([dated('day', 23 * 60), dated('over', 25 * 60)])).body).toMatchObject({
      accepted: 1,
      rejected: [{ id: 'over' }],
    });
  });

  it('stores nothing of a rejected request', async () => {
    await sendBatch([threat('refused', { createdAt: 0 })]);
    await send(JSON.stringify([threat('refused')]), { key: readKey });
    await send(JSON.stringify([threat('refused')]), { type: 'text/plain' });
    // Checks only the stream of this threat, because other specs write to the same log.
    expect(await storedThreats('refused')).toEqual([]);
    await sendBatch([threat('refused')]);
    expect(await storedThreats('refused')).toHaveLength(1);
  });
});

describe('The quota of an organization’s own ingest key', () => {
  it('returns 429 once the quota is used up, until midnight UTC; other keys and organizations are not affected', async () => {
    const limited = await startApp({ env: { INGEST_EVENTS_PER_DAY: '10' } });
    const post = async (key: string, organization: string, ids: string[]) => {
      const json = ids.map((id) => threat(id, { organization }));
      const { status, headers, body } = await limited.call('/v2/events', {
        key,
        json,
        headers: { 'content-type': BATCH },
      });
      const { accepted, duplicates, message } = body;
      return { status, retryAfter: headers.get('retry-after'), accepted, duplicates, message };
    };
    try {
      const mine = await limited.issueKey({ organization: 'acme', scopes: ['ingest'] });
      const theirs = await limited.issueKey({ organization: 'other', scopes: ['ingest'] });
      const every = await limited.issueKey({ scopes: ['ingest'] });
      const ids = Array.from({ length: 10 }, (_, n) => `q-${n}`);
      // Duplicates are not stored, so they do not count against the quota.
      expect(await post(mine, 'acme', ids.slice(0, 5))).toMatchObject({ status: 200, accepted: 5 });
      expect(await post(mine, 'acme', ids.slice(0, 5))).toMatchObject({ status: 200, duplicates: 5 });
      expect(await post(mine, 'acme', ids.slice(5))).toMatchObject({ status: 200, accepted: 5 });
      const refused = await post(mine, 'acme', ['q-11']);
      expect(refused).toMatchObject({
        status: 429,
        message: 'acme has used its quota of 10 events per day; it resets at midnight UTC',
      });
      expect(Number(refused.retryAfter)).toBeGreaterThan(0);
      expect(Number(refused.retryAfter)).toBeLessThanOrEqual(86_400);
      expect(await post(theirs, 'other', ids)).toMatchObject({ status: 200, accepted: 10 });
      expect(
        await post(
          every,
          'acme',
          Array.from({ length: 30 }, (_, n) => `e-${n}`),
        ),
      ).toMatchObject({ accepted: 30 });
    } finally {
      await limited.close();
    }
  });
});

describe('The handshake of the WebHook specification', () => {
  const ask = (headers: Record<string, string>) => fetch(`${app.url}/v2/events`, { method: 'OPTIONS', headers });

  it('allows the requesting origin if its key may send events', async () => {
    const origin = { 'webhook-request-origin': 'upstream.example', 'webhook-request-rate': '120' };
    const response = await ask({ 'x-api-key': everyKey, ...origin });
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      allow: 'OPTIONS, POST',
      'webhook-allowed-origin': 'upstream.example',
      'webhook-allowed-rate': '*',
    });
    for (const type of ['application/cloudevents+json', 'application/json', 'text/plain'])
      expect((await ask({ 'x-api-key': everyKey, ...origin, 'content-type': type })).status).toBe(200);
    expect((await ask(origin)).status).toBe(401);
    expect((await ask({ 'x-api-key': readKey, ...origin })).status).toBe(403);
    expect((await ask({ 'x-api-key': everyKey })).status).toBe(400);
    expect((await ask({ 'x-api-key': everyKey, 'webhook-request-origin': 'caf\u00e9' })).status).toBe(400);
  });
});
