import { beforeAll, describe, expect, it } from '@jest/globals';
import { issueApiKey, listApiKeys, revokeApiKey } from '../../src/api-keys/api-keys.js';
import { KeyUses, readKeyUses } from '../../src/api-keys/key-uses.js';
import { BEGINNING } from '../../src/event-log/event-log.js';
import { WatchPool } from '../../src/read-models/pools.js';
import { sharedApp } from '../support/open-for-tests.js';

const GROUPS = '/v2/organization/asset-groups';
const TRACEPARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

const app = sharedApp();
let key: string;
let keyId: string;
beforeAll(async () => {
  key = await app.issueKey({ organization: 'acme' });
  const [listed] = await listApiKeys(app.log);
  keyId = listed!.id;
});

const metadataOf = async (type: string): Promise<unknown[]> =>
  (await app.log.readAll(BEGINNING, 1_000)).filter((event) => event.type === type).map(({ metadata }) => metadata);
const call = async (
  method: string,
  path: string,
  json: unknown,
  headers: Record<string, string> = {},
): Promise<number> => (await app.call(path, { method, key, json, headers })).status;

describe('Audit data in the log', () => {
  it('include the key and the trace of each creation, renaming and deletion of a group', async () => {
    expect(await call('POST', GROUPS, { name: 'A' }, { traceparent: TRACEPARENT, 'idempotency-key': 'k' })).toBe(201);
    expect(await call('PATCH', `${GROUPS}/1`, { name: 'B' }, { traceparent: 'nonsense' })).toBe(200);
    expect(await call('DELETE', `${GROUPS}/1`, {})).toBe(200);
    expect(await metadataOf('AssetGroupCreated')).toEqual([
      expect.objectContaining({ keyId, traceparent: TRACEPARENT, bodyHash: expect.any(String) }),
    ]);
    expect(await metadataOf('AssetGroupRenamed')).toEqual([{ keyId }]);
    expect(await metadataOf('AssetGroupDeleted')).toEqual([{ keyId }]);
  });

  it('include the trace in which an event was reported, but no invalid trace context', async () => {
    const ingest = await app.issueKey({ scopes: ['ingest'] });
    const event = (id: string) => ({
      specversion: '1.0',
      id,
      source: 'https://upstream.example',
      type: 'ThreatDeleted',
      time: '2026-03-01T12:00:00.000Z',
      data: { organization: 'acme', threatId: id, deletedAt: '2026-03-01T12:00:00.000Z' },
    });
    const send = (id: string, traceparent: string | undefined, more: object = {}) =>
      call(
        'POST',
        '/v2/events',
        { ...event(id), ...more },
        {
          'x-api-key': ingest,
          'content-type': 'application/cloudevents+json',
          ...(traceparent !== undefined && { traceparent }),
        },
      );
    expect(await send('a', TRACEPARENT)).toBe(200);
    for (const [n, wrong] of [
      TRACEPARENT.toUpperCase(),
      TRACEPARENT.replace('00-', 'ff-'),
      `${TRACEPARENT}-more`,
      `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`,
      '00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01',
    ].entries())
      expect(await send(`wrong-${n}`, wrong)).toBe(200);
    const [good, ...others] = await metadataOf('ThreatDeleted');
    expect(good).toMatchObject({ id: 'a', traceparent: TRACEPARENT });
    expect(others).toHaveLength(5);
    for (const other of others) expect(other).not.toHaveProperty('traceparent');

    // If the request has no trace context, the trace context of the event is stored, unless it is invalid.
    const eventTraceparent = TRACEPARENT.replace('4bf9', '0000');
    expect(await send('made', undefined, { traceparent: eventTraceparent })).toBe(200);
    expect(await send('both', TRACEPARENT, { traceparent: eventTraceparent })).toBe(200);
    expect(await send('nonsense', undefined, { traceparent: 'nonsense' })).toBe(200);
    expect((await metadataOf('ThreatDeleted')).slice(-3)).toEqual([
      expect.objectContaining({ id: 'made', traceparent: eventTraceparent }),
      expect.objectContaining({ id: 'both', traceparent: TRACEPARENT }),
      expect.not.objectContaining({ traceparent: expect.anything() }),
    ]);
  });

  it('include the operators who issued and revoked a key', async () => {
    const { id } = await issueApiKey(app.log, { scopes: ['ingest'], operator: 'ann' });
    await revokeApiKey(app.log, id, 'bob');
    const listed = await listApiKeys(app.log);
    expect(listed.find((each) => each.id === id)).toMatchObject({ issuedBy: 'ann', revokedBy: 'bob' });
    expect(listed[0]).toMatchObject({ issuedBy: undefined, revokedBy: undefined });
  });
});

describe('The last use of a key', () => {
  it('is recorded to the minute, and never moves back', async () => {
    const pool = app.app.get(WatchPool);
    const before = Date.now();
    expect(await call('GET', GROUPS, undefined)).toBe(200);
    await app.app.get(KeyUses).beforeApplicationShutdown();
    const at = (await readKeyUses(pool)).get(keyId)!;
    expect(at % 60_000).toBe(0);
    expect(at).toBeGreaterThan(before - 60_000);
    expect(at).toBeLessThanOrEqual(Date.now());
    await pool.query('update service.key_uses set last_used_at = last_used_at + 600000');
    await call('GET', GROUPS, undefined);
    await app.app.get(KeyUses).beforeApplicationShutdown();
    expect((await readKeyUses(pool)).get(keyId)).toBe(at + 600_000);
  });
});
