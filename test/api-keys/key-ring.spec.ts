import { describe, expect, it, jest } from '@jest/globals';
import { createKey, digestOf, KeyRing } from '../../src/api-keys/key-ring.js';
import { Logger } from '@nestjs/common';
import { Unavailable } from '../../src/errors.js';
import { ErasedOrganizations } from '../../src/event-log/erased-organizations.js';
import { erasureDigest } from '../../src/events/redacted.js';
import type { RecordedEvent } from '../../src/event-log/event-log.js';
import { API_KEYS_STREAM } from '../../src/events/streams.js';
import { Readiness } from '../../src/ops/readiness.js';
import { InMemoryEventLog } from '../support/in-memory-event-log.js';

/** A log of key events that can be made unavailable or lose events. */
class KeyLog extends InMemoryEventLog {
  isUnavailable = false;
  /** Hides the events from this revision on. */
  seemsToEndAt = Infinity;
  private ids = 0;

  /** Loses the last events, as a failover to a lagging standby does. */
  loseLast(): void {
    this.events.pop();
  }

  add(type: string, data: object): void {
    const revision = BigInt(this.events.length);
    const id = String((this.ids += 1));
    const place = { revision, position: revision, stream: API_KEYS_STREAM };
    this.events.push({ ...place, id, type, data, metadata: {}, recordedAt: 0 });
  }

  issue(keyId: string, key: string, fields: object = {}): void {
    const data = { keyId, keyHash: digestOf(key), scopes: ['read'], createdAt: '2026-01-01T00:00:00.000Z', ...fields };
    this.add('ApiKeyIssued', data);
  }

  revoke(keyId: string): void {
    this.add('ApiKeyRevoked', { keyId, revokedAt: '2026-01-02T00:00:00.000Z' });
  }

  override async readStream(...args: Parameters<InMemoryEventLog['readStream']>): Promise<RecordedEvent[]> {
    if (this.isUnavailable) throw new Unavailable('The log is unavailable');
    return (await super.readStream(...args)).filter(({ revision }) => revision < this.seemsToEndAt);
  }
}

const open = (): { stream: KeyLog; ring: KeyRing; readiness: Readiness } => {
  const stream = new KeyLog();
  const readiness = new Readiness();
  // The key ring must read through `forSubscriptions`; the log itself has no keys.
  const log = Object.assign(new InMemoryEventLog(), { forSubscriptions: stream });
  return { stream, readiness, ring: new KeyRing(log, readiness, { add: () => {} } as never) };
};

describe('KeyRing', () => {
  it('throws Unavailable and makes the service not ready until the keys have been read', async () => {
    const { stream, ring, readiness } = open();
    const key = createKey();
    stream.issue('a', key);
    stream.isUnavailable = true;
    await expect(ring.refresh()).rejects.toBeInstanceOf(Unavailable);
    expect(() => ring.verify(key)).toThrow(Unavailable);
    expect((await readiness.report()).status).toBe('not-ready');
    stream.isUnavailable = false;
    await ring.refresh();
    expect(ring.verify(key)).toEqual({ keyId: 'a', organization: undefined, scopes: ['read'] });
    expect((await readiness.report()).status).toBe('ready');
  });

  it('accepts known keys while the log is unavailable', async () => {
    const { stream, ring } = open();
    const key = createKey();
    stream.issue('a', key);
    await ring.refresh();
    stream.isUnavailable = true;
    await expect(ring.refresh()).rejects.toBeInstanceOf(Unavailable);
    expect(ring.verify(key)?.keyId).toBe('a');
  });

  it('accepts known keys while the log appears empty', async () => {
    const { stream, ring } = open();
    const [key, later] = [createKey(), createKey()];
    stream.issue('a', key);
    await ring.refresh();
    stream.seemsToEndAt = 0;
    await expect(ring.refresh()).rejects.toBeInstanceOf(Unavailable);
    expect(ring.verify(key)?.keyId).toBe('a');
    stream.seemsToEndAt = Infinity;
    stream.issue('later', later);
    await ring.refresh();
    expect([key, later].map((one) => ring.verify(one)?.keyId)).toEqual(['a', 'later']);
  });

  it('accepts known keys until all keys of a log that lost events have been read', async () => {
    const { stream, ring } = open();
    const [kept, lost] = [createKey(), createKey()];
    stream.issue('kept', kept);
    stream.issue('lost', lost);
    await ring.refresh();
    stream.loseLast();
    const read = stream.readStream.bind(stream);
    stream.readStream = (name, from, limit) => {
      if (from > 0n) return read(name, from, limit);
      return Promise.reject(new Unavailable('The log is unavailable'));
    };
    await expect(ring.refresh()).rejects.toBeInstanceOf(Unavailable);
    expect([kept, lost].map((key) => ring.verify(key)?.keyId)).toEqual(['kept', 'lost']);
    stream.readStream = read;
    await ring.refresh();
    expect([kept, lost].map((key) => ring.verify(key)?.keyId)).toEqual(['kept', undefined]);
  });

  it('reads all keys again if the log lost events that were read', async () => {
    const { stream, ring } = open();
    const [kept, lost, later] = [createKey(), createKey(), createKey()];
    stream.issue('kept', kept);
    stream.issue('lost', lost);
    await ring.refresh();
    stream.loseLast();
    await ring.refresh();
    expect([kept, lost].map((key) => ring.verify(key)?.keyId)).toEqual(['kept', undefined]);
    stream.issue('lost', lost);
    await ring.refresh();
    stream.loseLast();
    stream.issue('later', later);
    await ring.refresh();
    expect([kept, lost, later].map((key) => ring.verify(key)?.keyId)).toEqual(['kept', undefined, 'later']);
  });

  it.each([
    ['warns that events were lost', undefined, ['warn']],
    ['does not report a loss if the organization of the keys was erased', 'gone', ['log']],
  ])('%s', async (_, organization, expected) => {
    const stream = new KeyLog();
    const erased = new ErasedOrganizations();
    const log = Object.assign(new InMemoryEventLog(), { forSubscriptions: stream });
    const ring = new KeyRing(log, new Readiness(), { add: () => {} } as never, undefined, erased);
    stream.issue('kept', createKey());
    stream.issue('lost', createKey(), { organization });
    await ring.refresh();
    stream.loseLast();
    const levels = (['warn', 'log'] as const).map((level) => jest.spyOn(Logger.prototype, level).mockReturnValue());
    erased.observe({
      type: 'OrganizationErasureStarted',
      data: { logId: 'a', digest: erasureDigest('a', 'gone'), startedAt: '2026-01-01T00:00:00.000Z' },
      position: 1n,
    });
    await ring.refresh();
    expect(['warn', 'log'].filter((__, n) => levels[n]!.mock.calls.length > 0)).toEqual(expected);
    for (const level of levels) level.mockRestore();
  });

  it('rejects a revoked key that was cached', async () => {
    const { stream, ring } = open();
    const [key, other] = [createKey(), createKey()];
    stream.issue('a', key);
    stream.issue('b', other);
    await ring.refresh();
    expect(ring.verify(key)?.keyId).toBe('a');
    stream.revoke('a');
    await ring.refresh();
    expect(ring.verify(key)).toBeUndefined();
    expect(ring.verify(other)?.keyId).toBe('b');
  });

  it('checks the expiry of a cached key on each use', async () => {
    const { stream, ring } = open();
    const key = createKey();
    const now = jest.spyOn(Date, 'now').mockReturnValue(1_000);
    const expiresAt = 1_001;
    stream.issue('a', key, { expiresAt: new Date(expiresAt).toISOString() });
    await ring.refresh();
    expect(ring.verify(key)?.keyId).toBe('a');
    now.mockReturnValue(expiresAt);
    expect(ring.verify(key)).toBeUndefined();
    now.mockRestore();
  });

  it('ignores invalid key events', async () => {
    const { stream, ring } = open();
    const [key, good] = [createKey(), createKey()];
    stream.issue('a', key, { scopes: ['everything'] });
    stream.add('Nonsense', { keyId: 'b' });
    stream.add('ApiKeyIssued', []);
    stream.issue('c', good);
    await ring.refresh();
    expect(ring.verify(key)).toBeUndefined();
    expect(ring.verify(good)?.keyId).toBe('c');
  });

  it('lets 1,000 requests with unknown keys wait for the next read, and none with a malformed or revoked key', async () => {
    const { stream, ring } = open();
    const revoked = createKey();
    stream.issue('a', revoked);
    stream.revoke('a');
    await ring.refresh();
    for (const key of ['tp_malformed', revoked]) expect(ring.verifyAfterRead(key)).toBeUndefined();
    const waiting = Array.from({ length: 1_000 }, () => ring.verifyAfterRead(createKey()));
    expect(waiting).not.toContain(undefined);
    expect(ring.verifyAfterRead(createKey())).toBeUndefined();
    await ring.refresh();
    for (const each of waiting) expect(await each).toBeUndefined();
    const issued = createKey();
    const verified = ring.verifyAfterRead(issued);
    stream.issue('b', issued);
    await ring.refresh();
    expect((await verified)?.keyId).toBe('b');
  });

  it('reads more keys than fit into one page', async () => {
    const { stream, ring } = open();
    const keys = Array.from({ length: 1_200 }, createKey);
    keys.forEach((key, i) => stream.issue(`k${i}`, key));
    await ring.refresh();
    keys.forEach((key, i) => expect(ring.verify(key)?.keyId).toBe(`k${i}`));
  });
});
