import { describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { Client } from 'pg';
import { get, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { issueApiKey, listApiKeys, revokeApiKey } from '../../src/api-keys/api-keys.js';
import { createKey, isWellFormed } from '../../src/api-keys/key-ring.js';
import { Conflict, Invalid, NotFound } from '../../src/errors.js';
import { BEGINNING } from '../../src/event-log/event-log.js';
import { WaitingRequests } from '../../src/flow/concurrency-limit.js';
import { FeedWatch } from '../../src/records/feed/feed-watch.js';
import type { Scope } from '../../src/events/types/organizations.js';
import { type TestApp } from '../support/app.js';
import { sharedApp, sharedDatabase } from '../support/open-for-tests.js';
import type { ApiResponse } from '../support/call.js';
import { eventually, eventuallyPasses } from '../support/eventually.js';
import { startProjecting } from '../support/projecting.js';
import { tableLines } from '../support/table-lines.js';

const GROUPS = '/v2/organization/asset-groups';

describe('An API key', () => {
  it('consists of a prefix, 178 random bits and a checksum', () => {
    const keys = new Set(Array.from({ length: 1_000 }, createKey));
    expect(keys.size).toBe(1_000);
    // Keys that are derived from the clock would have equal beginnings.
    expect(new Set(Array.from(keys, (key) => key.slice(3, 9))).size).toBe(1_000);
    for (const key of keys) {
      expect(key).toMatch(/^tp_[0-9A-Za-z]{36}$/);
      expect(isWellFormed(key)).toBe(true);
    }
  });

  it('is invalid if a character is changed, removed, added or swapped', () => {
    const digit = fc.constantFrom(...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz');
    fc.assert(
      fc.property(fc.integer({ min: 3, max: 38 }), digit, (at, character) => {
        const key = createKey();
        const mistyped = key.slice(0, at) + character + key.slice(at + 1);
        expect(isWellFormed(mistyped)).toBe(mistyped === key);
        expect(isWellFormed(key.slice(0, at) + key.slice(at + 1))).toBe(false);
        expect(isWellFormed(key.slice(0, at) + character + key.slice(at))).toBe(false);
      }),
    );
    expect(isWellFormed('')).toBe(false);
    expect(isWellFormed('tp_'.padEnd(39, '0'))).toBe(false);
  });
});

describe('API keys of a service with two instances', () => {
  const database = sharedDatabase();
  const one = sharedApp({ database });
  const other = sharedApp({ database });

  const status = async (app: TestApp, key: string): Promise<number> =>
    (await fetch(app.url + GROUPS, { headers: { 'x-api-key': key } })).status;

  /** Repeats the request until the response has the expected status. */
  const becomes = (app: TestApp, key: string, expected: number): Promise<void> =>
    eventuallyPasses(async () => expect(await status(app, key)).toBe(expected), 10_000);

  const issue = (scopes: readonly Scope[], organization?: string, expiresAt?: number) =>
    issueApiKey(one.log, { scopes, organization, name: 'a name', expiresAt });

  it('are accepted on every instance soon after they are issued, and rejected soon after they are revoked', async () => {
    const { id, key } = await issue(['read'], 'acme');
    await becomes(one, key, 200);
    await becomes(other, key, 200);
    await revokeApiKey(one.log, id);
    await becomes(one, key, 401);
    await becomes(other, key, 401);
    // No instance accepts the key again.
    expect([await status(one, key), await status(other, key)]).toEqual([401, 401]);
  });

  it('work with the first request to every instance', async () => {
    for (let n = 0; n < 3; n += 1) {
      const { key } = await issue(['read'], 'acme');
      expect(await Promise.all([status(one, key), status(other, key)])).toEqual([200, 200]);
    }
    // A key that was never issued is rejected after the same read.
    expect(await status(other, createKey())).toBe(401);
  });

  it('end their waiting requests within a second after they are revoked, on every instance', async () => {
    const projecting = startProjecting(one.log, one.pool);
    try {
      await projecting.reached();
      const { id, key } = await issue(['read'], 'acme');
      const { key: kept } = await issue(['read'], 'acme');
      const wait = (app: TestApp, apiKey: string, ms: number): Promise<ApiResponse> =>
        app.call(`/v2/organization/feed?timeout=${ms}`, { key: apiKey });
      const waiting = [one, other].map((app) => wait(app, key, 20_000));
      const keptWaiting = wait(other, kept, 2_000);
      const isWaiting = (app: TestApp): boolean => app.app.get(FeedWatch, { strict: false }).size > 0;
      await eventually('both instances have a waiting request', () => [one, other].every(isWaiting));
      await revokeApiKey(one.log, id);
      const revokedAt = performance.now();
      expect((await Promise.all(waiting)).map((response) => response.status)).toEqual([401, 401]);
      // The limit is one second; the rest is for a busy machine.
      expect(performance.now() - revokedAt).toBeLessThan(5_000);
      expect((await keptWaiting).status).toBe(200);
      expect(isWaiting(one)).toBe(false);
    } finally {
      await projecting.stop();
    }
  });

  it('end their reads of the outcomes of events that wait for a token, and not their writes', async () => {
    const issued = await issue(['ingest', 'write'], 'acme');
    // Nothing is projected, so what waits for the token gets a 503 at the end.
    const after = await one.call(GROUPS, { key: issued.key, json: { name: 'a group' } });
    const headers = { 'consistency-token': after.headers.get('consistency-token')!, prefer: 'wait=2' };
    const events = [{ source: 's', id: 'e', type: 'ThreatDeleted', record: { organization: 'acme', threatId: 't' } }];
    const expected = {
      '/v2/events/rejected': 401,
      '/v2/events/parked': 401,
      '/v2/events/usage': 401,
      '/v2/events/status': 401,
      '/v2/asset/disputes': 503,
    };
    const bodies: Record<string, object> = {
      '/v2/events/status': { events },
      '/v2/asset/disputes': { content: 'shop.example' },
    };
    const paths = Object.keys(expected);
    const sent = paths.map((path) => one.call(path, { key: issued.key, json: bodies[path], headers }));
    const waiting = one.app.get(WaitingRequests, { strict: false });
    await eventually('all requests wait', () => waiting.size === paths.length);
    await revokeApiKey(one.log, issued.id);
    const statuses = (await Promise.all(sent)).map(({ status }) => status);
    expect(Object.fromEntries(paths.map((path, n) => [path, statuses[n]]))).toEqual(expected);
  });

  it('end the long responses that are being sent when they are revoked', async () => {
    // 20 MB: more than the buffers of a connection hold.
    await one.pool.query(`insert into read.asset_group_streams values ('long', 0, 20000, 0)`);
    await one.pool.query(
      `insert into read.asset_groups select 'long', n, n || repeat('\u{1f600}', 250), 0 from generate_series(1, 20000) n`,
    );
    const begin = ({ key }: { readonly key: string }): Promise<IncomingMessage> =>
      new Promise((resolve, reject) => {
        get(one.url + GROUPS, { headers: { 'x-api-key': key } }, resolve).on('error', reject);
      });
    const revoked = await issue(['read'], 'long');
    const response = await begin(revoked);
    expect(response.statusCode).toBe(200);
    await revokeApiKey(one.log, revoked.id);
    await becomes(one, revoked.key, 401);
    await expect(text(response)).rejects.toThrow('aborted');
    // The same response is complete with a key that is not revoked.
    expect((await text(await begin(await issue(['read'], 'long')))).endsWith(']}')).toBe(true);
  });

  it('are rejected alike if a character is wrong, and without a statement', async () => {
    const { key } = await issue(['read'], 'acme');
    await becomes(one, key, 200);
    const query = jest.spyOn(Client.prototype, 'query');
    const answers = new Set<string>();
    for (let at = 3; at < key.length; at += 1) {
      const mistyped = key.slice(0, at) + (key[at] === 'x' ? 'y' : 'x') + key.slice(at + 1);
      const { status: code, body } = await one.call(GROUPS, { key: mistyped });
      answers.add(`${code} ${JSON.stringify(body)}`);
    }
    const statements = query.mock.calls.length;
    expect(await status(one, key)).toBe(200);
    expect(query.mock.calls.length).toBeGreaterThan(statements);
    query.mockRestore();
    expect([...answers]).toEqual([expect.stringMatching(/^401 /)]);
    // Both instances poll the database meanwhile.
    expect(statements).toBeLessThan(18);
  });

  it('are stored as a digest only', async () => {
    const { id, key } = await issue(['read', 'write'], 'acme');
    await becomes(one, key, 200);
    const stored = await one.log.readAll(BEGINNING, 10_000);
    const events = JSON.stringify(stored, (_, value: unknown) => (typeof value === 'bigint' ? `${value}` : value));
    expect(events).toContain(id);
    expect(events).not.toContain(key.slice(3, 33));
    const lines = await tableLines(one.pool);
    expect(lines).not.toEqual([]);
    expect(lines.filter((line) => line.includes(key.slice(3, 33)))).toEqual([]);
  });

  it('are listed with all metadata but without the key itself', async () => {
    const { id, key } = await issue(['write', 'read'], 'acme');
    const listed = await listApiKeys(other.log);
    const found = listed.find((each) => each.id === id);
    expect(found).toMatchObject({
      name: 'a name',
      organization: 'acme',
      scopes: ['read', 'write'],
      revokedAt: undefined,
    });
    expect(JSON.stringify(listed)).not.toContain(key.slice(3, 33));
  });

  it('are not issued with scopes that an organization cannot use, or that require an organization', async () => {
    await expect(issue(['read'])).rejects.toBeInstanceOf(Invalid);
    await expect(issue(['ingest', 'read'])).rejects.toBeInstanceOf(Invalid);
    await expect(issue([], 'acme')).rejects.toBeInstanceOf(Invalid);
    await expect(issue(['read'], 'Acme Inc')).rejects.toBeInstanceOf(Invalid);
    await expect(issue(['read'], 'acme', Date.now() - 1)).rejects.toBeInstanceOf(Invalid);
  });

  it('cannot be revoked twice, and unknown keys cannot be revoked', async () => {
    const { id } = await issue(['read'], 'acme');
    await revokeApiKey(one.log, id);
    await expect(revokeApiKey(one.log, id)).rejects.toBeInstanceOf(Conflict);
    await expect(revokeApiKey(one.log, 'key_none')).rejects.toBeInstanceOf(NotFound);
  });
});
