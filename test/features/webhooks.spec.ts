import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rebuild } from '../../projections/engine/rebuild.js';
import { webhooks } from '../../projections/webhooks.js';
import { AccessLogOutput } from '../../src/http/ops/access-log.js';
import { READ_WEBHOOK_FIGURES } from '../../src/ops/webhook-metrics.js';
import { listAllWebhooks } from '../../src/webhooks/list-webhooks.js';
import { MasterKeys, secretText, signingKey } from '../../src/webhooks/secrets.js';
import { startApp, type TestApp } from '../support/app.js';
import { sharedApp, sharedProjecting } from '../support/open-for-tests.js';
import type { ApiResponse } from '../support/call.js';
import { eventually } from '../support/eventually.js';
import { startProjecting } from '../support/projecting.js';
import { sent, stored } from '../support/upstream.js';
import { NO_FAILURES } from '../webhooks/delivery/no-failures.js';

const folder = mkdtempSync(join(tmpdir(), 'webhooks-'));
const keyFile = join(folder, 'keys');
writeFileSync(keyFile, `${Buffer.alloc(32, 7).toString('base64')}\n`);

const app = sharedApp({ env: { WEBHOOK_MASTER_KEY_FILE: keyFile } });
const projecting = sharedProjecting(app);
beforeAll(async () => {
  const key = await app.issueKey({ organization: 'any' });
  await eventually('the feed is filled', async () => (await app.call('/v2/organization/feed', { key })).status === 200);
});
afterAll(() => rmSync(folder, { recursive: true }));

const URL = 'https://acme.example/hooks';

/** Creates a new organization, and returns functions that call the API with its key. */
const newCaller = async (service: TestApp = app) => {
  const organization = `org-${randomUUID().slice(0, 8)}`;
  const key = await service.issueKey({ organization });
  const call = (method: string, path = '', json?: unknown, headers = {}): Promise<ApiResponse> =>
    service.call(`/v2/organization/webhooks${path}`, { method, key, json, headers });
  return {
    organization,
    call,
    create: (body: object = {}, idempotencyKey?: string) =>
      call(
        'POST',
        '',
        { url: URL, ...body },
        idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey },
      ),
    list: async () => (await call('GET')).body.webhooks as Record<string, unknown>[],
  };
};

const missing = { code: 'NOT_FOUND', message: 'Webhook not found' };

let minute = 0;
/** Reports threats of an organization, and waits until the feed contains them. */
const report = async (organization: string, threats: readonly { status?: string; type?: string }[]): Promise<void> => {
  const events = threats.map(({ status = 'BLOCKED', type = 'URL' }) => {
    const at = new Date(1_790_000_000_000 + 60_000 * minute++).toISOString();
    const asset = { type, content: `${minute}.example` };
    return sent('ThreatStatusChanged', {
      organization,
      threatId: `t-${minute}`,
      asset,
      status,
      createdAt: at,
      updatedAt: at,
    });
  });
  await app.log.appendAll(events.map(stored));
  await projecting.reached();
};

/** Simulates the delivery process, as far as the API can observe it. */
const progress = async (id: unknown, values: Record<string, unknown>): Promise<void> => {
  const all = { ...NO_FAILURES, logId: await app.log.id(), position: -1, ...values };
  await app.pool.query('insert into service.webhook_progress (endpoint, progress) values ($1, $2)', [id, all]);
};

describe('POST /v2/organization/webhooks', () => {
  it('returns 201 with the webhook, its URL and, only in this response, its secret', async () => {
    const { create, call, organization } = await newCaller();
    const { status, headers, body } = await create({ types: ['threat'], description: 'Gateway' });
    expect(status).toBe(201);
    const { id, secret, ...rest } = body;
    expect(headers.get('location')).toBe(`/v2/organization/webhooks/${id}`);
    expect(rest).toEqual({
      url: URL,
      types: ['threat'],
      batch: 1,
      description: 'Gateway',
      state: 'ACTIVE',
      behind: 0,
      createdAt: expect.any(String),
      updatedAt: rest.createdAt,
    });
    const masterKey = new MasterKeys(keyFile).newest();
    expect(secret).toBe(secretText(signingKey(masterKey, { webhookId: id, generation: 1 })));
    expect(await call('GET', `/${id}`)).toMatchObject({ status: 200, body: { id, ...rest } });
    expect((await call('GET', `/${id}`)).body.secret).toBeUndefined();
    await projecting.reached();
    const { rows } = await app.pool.query('select * from read.webhook_endpoints where organization = $1', [
      organization,
    ]);
    expect(rows).toMatchObject([
      { id, state: 'ACTIVE', revision: 0, endpoint: { masterKey: masterKey.id, generation: 1 } },
    ]);
  });

  it('makes the webhook visible in every later list, even if the projector is not running', async () => {
    const quiet = await startApp({ env: { WEBHOOK_MASTER_KEY_FILE: keyFile } });
    try {
      const { create, list } = await newCaller(quiet);
      const { id } = (await create({ from: 'beginning' })).body;
      expect(await list()).toMatchObject([{ id, url: URL, behind: 0 }]);
    } finally {
      await quiet.close();
    }
  });

  it.each([
    [{ url: undefined }, 'url is required'],
    [{ url: 7 }, 'url is required'],
    [{ url: 'acme.example' }, 'url must be a URL of at most 2048 characters, such as https://example.com/webhooks'],
    [{ url: `https://acme.example/${'x'.repeat(2_048)}` }, /at most 2048 characters/],
    [{ url: 'https://acme.example/\nhost' }, /url must be a URL/],
    [{ url: 'http://acme.example/' }, 'url must begin with https://'],
    [{ url: 'ftp://acme.example/' }, 'url must begin with https://'],
    [{ url: 'https://me@acme.example/' }, 'url must not contain a user or password'],
    [{ url: 'https://:secret@acme.example/' }, 'url must not contain a user or password'],
    [{ url: 'https://acme.example:22/' }, 'url must have port 443, or a port of 1024 or above'],
    [{ url: 'https://acme.example:80/' }, 'url must have port 443, or a port of 1024 or above'],
    [{ types: [] }, 'types must be null or a list of one or more of report, threat, takedown, verdict'],
    [{ types: ['threats'] }, /types must be/],
    [{ types: 'threat' }, /types must be/],
    [{ assetTypes: ['url'] }, 'assetTypes must be null or a list of 1 to 50 upper-case names'],
    [{ statuses: [{}] }, 'statuses must be null or a list of 1 to 50 upper-case names'],
    [{ statuses: Array.from({ length: 51 }, (_, n) => `S${n}`) }, /statuses must be/],
    [{ batch: 0 }, 'batch must be a whole number from 1 to 100'],
    [{ batch: 101 }, /batch must be/],
    [{ batch: null }, /batch must be/],
    [{ batch: '1' }, /batch must be/],
    [{ description: '' }, 'description must be null or 1 to 255 characters'],
    [{ description: 'a\u0000b' }, 'description must not contain U+0000 or lone surrogates'],
    [{ from: 1 }, 'from must be "beginning" or an ISO 8601 time'],
    [{ from: 'end' }, 'Invalid date format, use ISO 8601 format'],
    [{ from: '2999-01-01' }, 'from must not be in the future'],
  ])('rejects %j', async (body, message) => {
    const { create, list } = await newCaller();
    const answer = await create(body);
    expect({ status: answer.status, code: answer.body.code }).toEqual({ status: 400, code: 'BAD_REQUEST' });
    expect(answer.body.message).toMatch(message);
    expect(await list()).toEqual([]);
  });

  it.each([
    '127.0.0.1',
    '0x7f.1',
    '[::ffff:10.0.0.1]',
    'localhost',
    'LOCALHOST.',
    'db.internal',
    'printer.local',
    'intranet',
  ])('reveals nothing about %s except that it is not a public address', async (host) => {
    const { create } = await newCaller();
    const message = 'url: not a public address';
    expect(await create({ url: `https://${host}/x` })).toMatchObject({
      status: 400,
      body: { message, issues: [{ message }] },
    });
  });

  it('accepts exactly the networks that the operator has allowed, including http URLs', async () => {
    const open = await startApp({
      env: { WEBHOOK_MASTER_KEY_FILE: keyFile, WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1,10.1.0.0/16' },
    });
    try {
      const { create } = await newCaller(open);
      for (const url of [
        'http://127.0.0.1:8080/',
        'https://10.1.2.3/',
        'http://receiver.internal/',
        'http://10.1.0.1/',
      ])
        expect(await create({ url, from: 'beginning' })).toMatchObject({ status: 201, body: { url } });
      expect((await create({ url: 'https://10.2.0.1/' })).body.message).toBe('url: not a public address');
      expect((await create({ url: 'http://8.8.8.8/' })).body.message).toBe('url must begin with https://');
    } finally {
      await open.close();
    }
  });

  it('stores the normalised URL', async () => {
    const { create } = await newCaller();
    expect((await create({ url: 'HTTPS://Bücher.Example:443/a b?q=1#top' })).status).toBe(400);
    expect(await create({ url: 'HTTPS://Bücher.Example:443/a?q=1#top' })).toMatchObject({
      status: 201,
      body: { url: 'https://xn--bcher-kva.example/a?q=1' },
    });
  });

  it('accepts 10 webhooks per organization, not counting deleted webhooks', async () => {
    const { create, call } = await newCaller();
    const answers = await Promise.all(Array.from({ length: 12 }, () => create()));
    expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([
      ...Array<number>(10).fill(201),
      409,
      409,
    ]);
    const message = 'An organization has at most 10 webhooks; delete one first';
    expect(await create()).toMatchObject({ status: 409, body: { code: 'CONFLICT', message } });
    await call('DELETE', `/${answers.find(({ status }) => status === 201)!.body.id}`);
    expect((await create()).status).toBe(201);
  });

  it('repeats the first response to an Idempotency-Key without the secret, even after the webhook was changed and projected', async () => {
    const { create, call, list } = await newCaller();
    const first = await create({ statuses: ['B', 'A'] }, 'k');
    const { secret: _, ...firstBody } = first.body;
    const again = await create({ statuses: ['A', 'B', 'A'] }, 'k');
    expect({ status: again.status, replayed: again.headers.get('idempotent-replayed') }).toEqual({
      status: 201,
      replayed: 'true',
    });
    expect(again.body).toEqual(firstBody);
    await call('PATCH', `/${firstBody.id}`, { state: 'DISABLED', batch: 5 });
    await projecting.reached();
    expect((await create({ statuses: ['A', 'B'] }, 'k')).body).toEqual(firstBody);
    expect(await create({}, 'k')).toMatchObject({
      status: 422,
      body: { message: 'This Idempotency-Key was used with another body' },
    });
    expect((await create({}, 'é')).status).toBe(400);
    expect(await list()).toHaveLength(1);
    await call('DELETE', `/${firstBody.id}`);
    expect((await create({ statuses: ['A', 'B'] }, 'k')).body).toEqual(firstBody);
    expect(await list()).toEqual([]);
  });

  it('starts deliveries at the current end of the feed, at its beginning, or at an instant', async () => {
    const { organization, create, list } = await newCaller();
    await report(organization, [{}, {}]);
    const between = new Date().toISOString();
    await eventually('a millisecond has passed', () => Date.now() > Date.parse(between));
    await report(organization, [{}]);
    await create();
    await create({ from: 'beginning' });
    await create({ from: between });
    await create({ from: 'beginning', types: ['report'] });
    expect((await list()).map(({ behind }) => behind)).toEqual([0, 3, 1, 0]);
  });

  it('starts deliveries at the first record that was stored at the given instant', async () => {
    const { organization, create, call } = await newCaller();
    const { organization: other } = await newCaller();
    for (let n = 1; n <= 4; n += 1) {
      await report(
        organization,
        Array.from({ length: n }, () => ({})),
      );
      await report(other, [{}, {}]);
    }
    const { rows } = await app.pool.query<{ at: string }>(
      'select stored_at as at from read.register where organization = $1 order by position',
      [organization],
    );
    const stored = rows.map(({ at }) => Number(at));
    expect(stored).toHaveLength(10);
    const { id } = (await create()).body;
    for (const at of stored)
      for (const instant of [at - 1, at, at + 1]) {
        const { body } = await call('POST', `/${id}/replay`, { from: new Date(instant).toISOString() });
        expect({ instant, behind: body.behind }).toEqual({
          instant,
          behind: stored.filter((one) => one >= instant).length,
        });
      }
  });

  it('accepts the instant at which a record was stored, even if that instant is in the future by every other clock', async () => {
    const { organization, create } = await newCaller();
    await report(organization, [{}, {}]);
    const ahead = Date.now() + 3_600_000;
    await app.pool.query(
      `update read.register set stored_at = $2 where organization = $1
        and position = (select max(position) from read.register where organization = $1)`,
      [organization, ahead],
    );
    const statuses = [];
    for (const from of [ahead, ahead + 1]) statuses.push((await create({ from: new Date(from).toISOString() })).status);
    expect(statuses).toEqual([201, 400]);
  });

  it('returns 429 once the daily quota is used up', async () => {
    const small = await startApp({ env: { WEBHOOK_MASTER_KEY_FILE: keyFile, INGEST_EVENTS_PER_DAY: '2' } });
    try {
      const { create } = await newCaller(small);
      const statuses = [];
      for (let n = 1; n <= 3; n += 1) statuses.push((await create({ from: 'beginning' })).status);
      expect(statuses).toEqual([201, 201, 429]);
    } finally {
      await small.close();
    }
  });

  it('returns 503 if the installation has no master key', async () => {
    const without = await startApp();
    try {
      const { create } = await newCaller(without);
      const { status, body, headers } = await create();
      expect([status, body.message]).toEqual([
        503,
        'Webhooks are not configured: the operator must set WEBHOOK_MASTER_KEY_FILE to a file with the master keys',
      ]);
      expect(headers.get('retry-after')).toBe('60');
    } finally {
      await without.close();
    }
  });
});

describe('GET /v2/organization/webhooks', () => {
  it('shows the state of the deliveries', async () => {
    const { organization, create, call } = await newCaller();
    const { id } = (await create()).body;
    await report(organization, [{ status: 'BLOCKED' }, { status: 'APPROVED' }, { status: 'BLOCKED', type: 'TWITTER' }]);
    const failure = { at: 1_790_000_000_000, status: 503, error: 'responded with 503', answer: 'busy' };
    await progress(id, {
      failingSince: 1,
      tries: 1,
      lastSuccessAt: 1_790_000_000_001,
      nextAttemptAt: 1_790_000_000_002,
      lastFailure: failure,
    });
    const failing = {
      state: 'FAILING',
      behind: 3,
      lastSuccessAt: new Date(1_790_000_000_001).toISOString(),
      nextAttemptAt: new Date(1_790_000_000_002).toISOString(),
      lastFailure: {
        at: new Date(failure.at).toISOString(),
        status: 503,
        error: 'responded with 503',
        responseBody: 'busy',
      },
    };
    expect((await call('GET', `/${id}`)).body).toMatchObject(failing);
    const behind = async (filter: object): Promise<unknown> => (await call('PATCH', `/${id}`, filter)).body.behind;
    expect(await behind({ statuses: ['BLOCKED'] })).toBe(2);
    expect(await behind({ assetTypes: ['TWITTER'] })).toBe(1);
    expect(await behind({ statuses: ['APPROVED'] })).toBe(0);
    expect(await behind({ statuses: null, assetTypes: null, types: ['takedown'] })).toBe(0);
    const disabled = (await call('PATCH', `/${id}`, { state: 'DISABLED' })).body;
    expect(disabled).toMatchObject({
      state: 'DISABLED',
      disabledReason: 'requested',
      lastFailure: failing.lastFailure,
    });
    expect(disabled.nextAttemptAt).toBeUndefined();
  });

  it('lists the attempts, newest first', async () => {
    const { create, call } = await newCaller();
    const { id } = (await create()).body;
    expect((await call('GET', `/${id}/attempts`)).body).toEqual({ attempts: [] });
    const refused = { at: 2000, deliveryId: 'm3', records: 1, ms: 4, isTest: false };
    await app.pool.query(
      'insert into service.webhook_attempts (endpoint, number, attempt) select $1, * from unnest($2::int[], $3::json[])',
      [
        id,
        [1, 2, 3],
        [
          { at: 0, deliveryId: 'm1', records: 2, ms: 3, isTest: false, status: 204 },
          { at: 1000, deliveryId: 'm2', records: 1, ms: 15000, isTest: true, error: 'no answer' },
          { ...refused, status: 422, error: 'responded with 422', setAside: { type: 'threat', id: 't-1' } },
        ],
      ],
    );
    const { attempts } = (await call('GET', `/${id}/attempts`)).body;
    expect(attempts).toEqual([
      {
        at: '1970-01-01T00:00:02.000Z',
        isTest: false,
        deliveryId: 'm3',
        records: 1,
        status: 422,
        error: 'responded with 422',
        ms: 4,
        setAside: { type: 'threat', id: 't-1' },
      },
      { at: '1970-01-01T00:00:01.000Z', isTest: true, deliveryId: 'm2', records: 1, error: 'no answer', ms: 15_000 },
      { at: '1970-01-01T00:00:00.000Z', isTest: false, deliveryId: 'm1', records: 2, status: 204, ms: 3 },
    ]);
    expect((await call('GET', `/${id}/attempts?limit=1`)).body.attempts).toEqual(attempts.slice(0, 1));
    for (const limit of ['0', '101', 'x', ''])
      expect((await call('GET', `/${id}/attempts?limit=${limit}`)).status).toBe(400);
  });
});

describe('PATCH /v2/organization/webhooks/{id}', () => {
  it('changes the given fields, removes fields that are null, and keeps all other fields', async () => {
    const { organization, create, call } = await newCaller();
    const { secret: _, ...before } = (await create({ types: ['threat'], statuses: ['A'], description: 'x' })).body;
    const id = String(before.id);
    const changed = await call('PATCH', `/${id}`, { url: `${URL}/2`, statuses: null, description: null });
    expect(changed.status).toBe(200);
    expect(changed.body).toEqual({
      ...before,
      url: `${URL}/2`,
      statuses: undefined,
      description: undefined,
      updatedAt: changed.body.updatedAt,
    });
    const revision = async (): Promise<unknown> =>
      (await app.pool.query('select revision from read.webhook_endpoints where organization = $1', [organization]))
        .rows[0];
    // The change has taken effect in the delivery process before the response arrives.
    expect(await revision()).toEqual({ revision: 1 });
    expect((await call('PATCH', `/${id}`, { url: `${URL}/2`, types: ['threat'], state: 'ACTIVE' })).body).toEqual(
      changed.body,
    );
    expect((await call('PATCH', `/${id}`, {})).body).toEqual(changed.body);
    expect(await revision()).toEqual({ revision: 1 });
    for (const [body, message] of [
      [{ url: 'https://10.0.0.1/' }, 'url: not a public address'],
      [{ url: null }, 'url is required'],
      [{ state: 'FAILING' }, 'state must be ACTIVE or DISABLED'],
      [{ state: null }, 'state must be ACTIVE or DISABLED'],
      [{ batch: 1.5 }, 'batch must be a whole number from 1 to 100'],
    ] as const)
      expect(await call('PATCH', `/${id}`, body)).toMatchObject({ status: 400, body: { message } });
  });

  it('disables and enables the webhook without moving its cursor', async () => {
    const { organization, create, call } = await newCaller();
    const { id } = (await create()).body;
    const disabled = await call('PATCH', `/${id}`, { state: 'DISABLED', batch: 2 });
    expect(disabled.body).toMatchObject({ state: 'DISABLED', disabledReason: 'requested', batch: 2 });
    await report(organization, [{}]);
    const enabled = (await call('PATCH', `/${id}`, { state: 'ACTIVE' })).body;
    expect(enabled).toMatchObject({ state: 'ACTIVE', behind: 1 });
    expect(enabled.disabledReason).toBeUndefined();
  });
});

describe('DELETE /v2/organization/webhooks/{id}', () => {
  it('takes effect in the delivery process before the response, and cannot be undone', async () => {
    const { create, call, list } = await newCaller();
    const { id } = (await create()).body;
    expect(await call('DELETE', `/${id}`)).toMatchObject({ status: 200, body: { success: true, id } });
    const { rows } = await app.pool.query('select state from read.webhook_endpoints where id = $1', [id]);
    expect(rows).toEqual([{ state: 'DELETED' }]);
    expect(await list()).toEqual([]);
    for (const [method, path, body] of [
      ['GET', ''],
      ['PATCH', '', { state: 'ACTIVE' }],
      ['DELETE', ''],
      ['POST', '/rotate', {}],
      ['POST', '/test', {}],
      ['POST', '/replay', { from: 'beginning' }],
      ['GET', '/attempts'],
    ] as const)
      expect(await call(method, `/${id}${path}`, body)).toMatchObject({ status: 404, body: missing });
  });

  it('returns 503 if no projector is running, and 404 if the request is repeated', async () => {
    const quiet = await startApp({ env: { WEBHOOK_MASTER_KEY_FILE: keyFile } });
    try {
      const { create, call } = await newCaller(quiet);
      const { id } = (await create({ from: 'beginning' })).body;
      const { id: other } = (await create({ from: 'beginning' })).body;
      // Each of the two requests waits for the projector.
      const [rotated, deleted] = await Promise.all([call('POST', `/${id}/rotate`), call('DELETE', `/${other}`)]);
      expect([rotated.status, rotated.body.message]).toEqual([
        503,
        'The secret was not rotated, because the projector is not running or too far behind',
      ]);
      // A second rotation would end the secret that the receiver knows.
      expect((await call('GET', `/${id}`)).body.previousSecretUntil).toBeUndefined();
      expect([deleted.status, deleted.body.message]).toEqual([
        503,
        'The change is stored, but has not taken effect yet; it takes effect once the projector has caught up',
      ]);
      expect(await call('DELETE', `/${other}`)).toMatchObject({ status: 404, body: missing });
    } finally {
      await quiet.close();
    }
  });
});

describe('A used-up daily quota', () => {
  it('refuses changes of webhooks, but none that ends deliveries', async () => {
    const env = { WEBHOOK_MASTER_KEY_FILE: keyFile, INGEST_EVENTS_PER_DAY: '1' };
    const quiet = await startApp({ env });
    try {
      const { create, call } = await newCaller(quiet);
      const { id } = (await create({ from: 'beginning' })).body;
      for (const refused of [{ state: 'DISABLED', description: 'other' }, { description: 'other' }])
        expect(await call('PATCH', `/${id}`, refused)).toMatchObject({ status: 429 });
      const stored = { status: 503, body: { message: expect.stringMatching(/^The change is stored/) } };
      const ended = [call('PATCH', `/${id}`, { state: 'DISABLED' }), call('DELETE', `/${id}`)];
      expect(await Promise.all(ended)).toMatchObject([stored, stored]);
    } finally {
      await quiet.close();
    }
  });
});

describe('POST /v2/organization/webhooks/{id}/rotate', () => {
  it('returns a new secret only once, and rotates again within 24 hours only with force', async () => {
    const { create, call } = await newCaller();
    const { id, secret } = (await create()).body;
    const rotated = await call('POST', `/${id}/rotate`, {});
    expect(rotated).toMatchObject({ status: 200, body: { id, secret: expect.stringMatching(/^whsec_/) } });
    const until = Date.parse(rotated.body.previousSecretUntil);
    expect(Math.abs(until - Date.now() - 24 * 3_600_000)).toBeLessThan(60_000);
    expect((await call('GET', `/${id}`)).body.previousSecretUntil).toBe(rotated.body.previousSecretUntil);
    expect(await call('POST', `/${id}/rotate`, { force: false })).toMatchObject({ status: 409 });
    const third = (await call('POST', `/${id}/rotate`, { force: true })).body;
    expect(new Set([secret, rotated.body.secret, third.secret]).size).toBe(3);
    expect(await call('POST', `/${id}/rotate`, { force: 'yes' })).toMatchObject({ status: 400 });
  });
});

describe('POST /v2/organization/webhooks/{id}/replay', () => {
  it('sets the cursor, and discards the previous progress', async () => {
    const { organization, create, call } = await newCaller();
    await report(organization, [{}, {}]);
    const { id } = (await create()).body;
    const failure = { at: 1, status: 503, error: 'responded with 503', answer: '' };
    await progress(id, {
      position: Number(await app.log.head()),
      failingSince: 1,
      tries: 1,
      nextAttemptAt: 1_790_000_000_002,
      lastFailure: failure,
    });
    const states = async (): Promise<unknown> => {
      await projecting.reached();
      const [one] = await listAllWebhooks(app.pool, organization);
      const [figures] = await READ_WEBHOOK_FIGURES.run(app.pool, { afterOrganization: '', afterId: '', limit: 10_000 });
      const { failing, active } = figures!;
      return { state: one!.state, nextAttemptAt: one!.nextAttemptAt, failing, active };
    };
    const before = (await states()) as { failing: number; active: number };
    expect(before).toMatchObject({ state: 'FAILING', nextAttemptAt: 1_790_000_000_002 });
    const { body: again } = await call('POST', `/${id}/replay`, { from: 'beginning' });
    expect(again).toMatchObject({ id, behind: 2, state: 'ACTIVE', lastFailure: { status: 503 } });
    expect(again.nextAttemptAt).toBeUndefined();
    const { failing, active } = before;
    expect(await states()).toEqual({ state: 'ACTIVE', nextAttemptAt: null, failing: failing - 1, active: active + 1 });
    expect((await call('POST', `/${id}/replay`, { from: new Date().toISOString() })).body).toMatchObject({ behind: 0 });
    await projecting.reached();
    const { rows } = await app.pool.query('select endpoint from read.webhook_endpoints where id = $1', [id]);
    expect(rows).toMatchObject([{ endpoint: { replay: 2, startLog: await app.log.id() } }]);
    for (const body of [{}, { from: null }, { from: 'now' }])
      expect((await call('POST', `/${id}/replay`, body)).status).toBe(400);
    const { body: refused } = await call('POST', `/${id}/replay`, { from: 'now' });
    expect(refused.issues).toEqual([{ message: 'from: Invalid date format, use ISO 8601 format' }]);
  });
});

describe('POST /v2/organization/webhooks/{id}/test', () => {
  it('returns the result that the delivery process has stored', async () => {
    const { organization, create, call } = await newCaller();
    const { id } = (await create()).body;
    const answer = call('POST', `/${id}/test`);
    const result = { webhookId: 'm1', status: 500, error: 'responded with 500', answer: 'oops', took: 12 };
    await eventually('the API has requested the test', async () => {
      const { rowCount } = await app.pool.query(
        `update service.webhook_tests set answered_at = 1, result = $2 where organization = $1 and endpoint = $3`,
        [organization, JSON.stringify(result), id],
      );
      return rowCount === 1;
    });
    expect(await answer).toMatchObject({
      status: 200,
      body: { deliveryId: 'm1', status: 500, error: 'responded with 500', responseBody: 'oops', ms: 12 },
    });
    expect(
      (await app.pool.query('select from service.webhook_tests where organization = $1', [organization])).rows,
    ).toEqual([]);
  });

  it('returns 503 if no delivery process is running', async () => {
    const { create, call } = await newCaller();
    const { id } = (await create()).body;
    const { status, headers, body } = await call('POST', `/${id}/test`);
    expect([status, headers.get('retry-after'), body.message]).toEqual([
      503,
      '5',
      'The webhook delivery process did not respond; try again',
    ]);
  });
});

describe('Webhooks', () => {
  it('of one organization are indistinguishable from nonexistent webhooks for another organization, on every route', async () => {
    const callers = await Promise.all(Array.from({ length: 12 }, () => newCaller()));
    const owned = await Promise.all(
      callers.map(async ({ organization, create }) => {
        const { id } = (await create({ url: `https://${organization}.example/` })).body;
        return { organization, id: String(id) };
      }),
    );
    const routes = [
      ['GET', ''],
      ['PATCH', '', { batch: 9 }],
      ['DELETE', ''],
      ['POST', '/rotate', {}],
      ['POST', '/test', {}],
      ['POST', '/replay', { from: 'beginning' }],
      ['GET', '/attempts'],
    ] as const;
    for (const [index, { call, list, organization }] of callers.entries()) {
      const { id } = owned[(index + 5) % owned.length]!;
      for (const [method, path, body] of routes) {
        const [foreign, unknown] = [
          await call(method, `/${id}${path}`, body),
          await call(method, `/wh_000000000000000000000000${path}`, body),
        ];
        expect([foreign.status, foreign.body]).toEqual([404, unknown.body]);
      }
      expect((await list()).map(({ url }) => url)).toEqual([`https://${organization}.example/`]);
    }
  });

  it('are changed in one order by concurrent requests', async () => {
    const { create, call, organization } = await newCaller();
    const { id } = (await create()).body;
    const answers = await Promise.all([
      ...Array.from({ length: 5 }, (_, n) => call('PATCH', `/${id}`, { batch: 10 + n })),
      call('POST', `/${id}/rotate`, {}),
      call('POST', `/${id}/rotate`, {}),
    ]);
    expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 200, 200, 200, 200, 200, 409]);
    await projecting.reached();
    const { rows } = await app.pool.query('select * from read.webhook_endpoints where organization = $1', [
      organization,
    ]);
    expect(rows).toMatchObject([{ revision: 6, endpoint: { generation: 2, previousGeneration: 1 } }]);
  });

  it('are the same after a rebuild, and so is their delivery progress', async () => {
    const { create, call } = await newCaller();
    const { id } = (await create({ types: ['threat', 'report'], assetTypes: ['URL'], batch: 7 }, 'again')).body;
    await call('POST', `/${id}/rotate`, {});
    await call('POST', `/${id}/replay`, { from: 'beginning' });
    await progress(id, { position: 3 });
    await projecting.reached();
    const rows = async (): Promise<unknown[]> => [
      (await app.pool.query('select * from read.webhook_endpoints order by organization, id')).rows,
      (await app.pool.query('select * from service.webhook_progress order by endpoint')).rows,
    ];
    const before = await rows();
    await rebuild({ pool: app.pool, log: app.log }, [webhooks]);
    expect(await rows()).toEqual(before);
  });

  it('store no secret in any table of the database, in any encoding', async () => {
    const { create, call } = await newCaller();
    const { id, secret } = (await create()).body;
    const rotated = (await call('POST', `/${id}/rotate`, {})).body.secret;
    await projecting.reached();
    const { rows: tables } = await app.pool.query<{ name: string }>(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname in ('log', 'read', 'service')`,
    );
    let text = '';
    for (const { name } of tables)
      for (const { row } of (await app.pool.query<{ row: string }>(`select t::text as row from ${name} t`)).rows)
        text += `${row}\n`;
    expect(text).toContain(String(id));
    for (const one of [secret, rotated] as string[]) {
      const bytes = Buffer.from(one.slice('whsec_'.length), 'base64');
      for (const form of [bytes.toString('base64').slice(0, 40), bytes.toString('hex'), bytes.toString('base64url')])
        expect(text.includes(form)).toBe(false);
    }
    expect(text).not.toContain('whsec_');
    expect(text).not.toContain(Buffer.alloc(32, 7).toString('base64'));
  });

  it('write no secret to the log of the API', async () => {
    const loud = await startApp({ env: { WEBHOOK_MASTER_KEY_FILE: keyFile, ACCESS_LOG: 'on' } });
    let text = '';
    Object.assign(loud.app.get(AccessLogOutput), { write: (lines: unknown) => (text += String(lines)) });
    const projecting = startProjecting(loud.log, loud.pool);
    try {
      const { create, call } = await newCaller(loud);
      const { id, secret } = (await create({ from: 'beginning' })).body;
      await projecting.reached();
      const rotated = (await call('POST', `/${id}/rotate`, {})).body.secret;
      expect([secret, rotated]).toEqual(Array(2).fill(expect.stringMatching(/^whsec_/)));
      await eventually('the requests are in the log', () => text.includes('webhooks/:id/rotate'));
      for (const one of [secret, rotated, 'whsec_'] as string[]) expect(text.includes(one)).toBe(false);
    } finally {
      await projecting.stop();
      await loud.close();
    }
  });
});
