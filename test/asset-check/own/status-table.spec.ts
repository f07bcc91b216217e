import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { AssetStatus } from '../../../src/events/types/verdicts.js';
import { LATEST } from '../../../src/events/instant.js';
import type { StoredStatus } from '../../../src/asset-check/own/status-record.js';
import { StatusTable, TooManyStatuses } from '../../../src/asset-check/own/status-table.js';

const LARGE = 1e9;

/**
 * Few distinct keys, so that operations hit equal keys: ASCII, Latin-1, wider characters, lone surrogates and prefixes.
 */
const texts = fc.array(fc.constantFrom('a', 'b', '.', 'é', 'ÿ', 'Ā', '漢', '\ud800', '\udfff', '\ufffd', '😀'), {
  maxLength: 4,
});
const keys = fc.tuple(fc.constantFrom('URL:', 'PAGE:'), texts).map(([type, text]) => type + text.join(''));
const statuses: fc.Arbitrary<StoredStatus> = fc.record({
  status: fc.constantFrom('BLOCKED', 'ALLOWED'),
  match: texts.map((text) => text.join('')),
  since: fc.option(fc.integer({ min: -8.64e15, max: 8.64e15 }), { nil: undefined }),
  expiresAt: fc.option(fc.integer({ min: 1, max: LATEST }), { nil: undefined }),
});

const NOW = Date.parse('2026-03-01T00:00:00Z');
const expiring = (
  status: AssetStatus,
  expiresAt: number | undefined,
  ...followers: readonly [status: AssetStatus, expiresAt: number | null][]
): StoredStatus => ({
  status,
  match: 'A',
  since: 1,
  expiresAt,
  followers:
    followers.length === 0
      ? undefined
      : JSON.stringify(followers.map(([next, until]) => ({ status: next, since: 2, expiresAt: until }))),
});

describe('StatusTable', () => {
  it('equals a map after any sequence of set and delete', () => {
    const changes = fc.array(fc.tuple(keys, fc.option(statuses, { nil: undefined })), { maxLength: 400 });
    fc.assert(
      fc.property(changes, keys, (all, stranger) => {
        const table = new StatusTable(LARGE);
        const map = new Map<string, StoredStatus>();
        for (const [key, status] of all) {
          if (status === undefined) {
            table.delete(key);
            map.delete(key);
          } else {
            table.set(key, status);
            map.set(key, status);
          }
        }
        expect(table.size).toBe(map.size);
        const keys = [...all.map(([each]) => each), stranger];
        expect(keys.map((key) => table.get(key, 0))).toEqual(keys.map((key) => map.get(key)));
      }),
    );
  });

  it('takes less than 150 bytes per status, even if each status changes many times', () => {
    const table = new StatusTable(LARGE);
    const count = 20_000;
    for (let round = 0; round < 5; round += 1)
      for (let n = 0; n < count; n += 1) {
        const match = `site-${n}.some-domain.example`;
        table.set(`URL:${match}`, { status: 'BLOCKED', match, since: 1.7e12 + round });
      }
    expect(table.size).toBe(count);
    expect(table.bytes / count).toBeLessThan(100 * 1.5);
    expect(table.get('URL:site-7.some-domain.example', 0)?.since).toBe(1.7e12 + 4);
    for (let n = 0; n < count; n += 1) table.delete(`URL:site-${n}.some-domain.example`);
    expect(table.size).toBe(0);
  });

  it('throws before it exceeds its memory limit, and keeps its content', () => {
    const table = new StatusTable(50_000);
    const fill = (): void => {
      for (let n = 0; n < 10_000; n += 1) {
        table.set(`URL:${n}.example`, { status: 'ALLOWED', match: `${n}.example`, since: undefined });
      }
    };
    expect(fill).toThrow(TooManyStatuses);
    expect(table.bytes).toBeLessThanOrEqual(50_000);
    expect(table.size).toBeGreaterThan(300);
    for (let n = 0; n < table.size; n += 1) expect(table.get(`URL:${n}.example`, 0)?.status).toBe('ALLOWED');
    for (let n = 1; n <= 600; n += 1) table.delete(`URL:${n}.example`);
    table.set('URL:1.other', { status: 'BLOCKED', match: '1.other', since: undefined });
    expect(table.get('URL:1.other', 0)?.status).toBe('BLOCKED');
  });

  it('returns the status until it expires, then what follows at that instant, then nothing', () => {
    const table = new StatusTable(LARGE);
    table.set('URL:a', expiring('BLOCKED', NOW, ['UNKNOWN', NOW + 1], ['ALLOWED', NOW + 3]));
    table.set('URL:b', expiring('BLOCKED', NOW, ['ALLOWED', null]));
    table.set('URL:c', expiring('BLOCKED', 0));
    const at = (key: string, now: number) => table.get(key, now)?.status;
    expect([-1, 0, 1, 2, 3].map((ms) => at('URL:a', NOW + ms))).toEqual([
      'BLOCKED',
      'UNKNOWN',
      'ALLOWED',
      'ALLOWED',
      undefined,
    ]);
    expect(table.get('URL:a', NOW + 1)).toEqual({ status: 'ALLOWED', match: 'A', since: 2, expiresAt: NOW + 3 });
    expect(table.get('URL:b', LATEST)).toEqual({ status: 'ALLOWED', match: 'A', since: 2, expiresAt: undefined });
    expect(at('URL:c', NOW)).toBeUndefined();
  });

  it('does not grow if statuses that expire are replaced again and again', () => {
    const table = new StatusTable(LARGE);
    const last = 100_000;
    for (let n = 0; n <= last; n += 1)
      table.set(`URL:${n % 100}`, { ...expiring('BLOCKED', NOW + n, ['ALLOWED', null]), match: `${n % 100}` });
    expect(table.bytes).toBeLessThan(100_000);
    expect(table.nextExpiry(0)).toBe(NOW + last - 99);
    for (let n = last - 99; n <= last; n += 1)
      expect([NOW + n - 1, NOW + n].map((now) => table.get(`URL:${n % 100}`, now)?.status)).toEqual([
        'BLOCKED',
        'ALLOWED',
      ]);
  });

  it('names the next instant at which a status or what follows it expires', () => {
    const table = new StatusTable(LARGE);
    expect(table.nextExpiry(0)).toBeUndefined();
    table.set('URL:a', expiring('BLOCKED', NOW + 5, ['ALLOWED', NOW + 9]));
    table.set('URL:b', expiring('BLOCKED', NOW + 7));
    table.set('URL:c', expiring('BLOCKED', undefined));
    const instants = [0, 5, 7, 9].map((ms) => table.nextExpiry(NOW + ms));
    expect(instants).toEqual([NOW + 5, NOW + 7, NOW + 9, undefined]);
    table.delete('URL:a');
    expect(table.nextExpiry(NOW)).toBe(NOW + 7);
  });

  it('names the keys of which a status or what follows it expires within a time', () => {
    const table = new StatusTable(LARGE);
    table.set('URL:a', expiring('BLOCKED', NOW + 5, ['ALLOWED', NOW + 9]));
    table.set('URL:b', expiring('BLOCKED', NOW + 7));
    table.set('URL:c', expiring('BLOCKED', undefined));
    const keys = [0, 4, 5, 7, 9].map((ms) => [...table.expiredBetween(NOW + ms, NOW + ms + 2)].join());
    expect(keys).toEqual(['', 'URL:a', 'URL:b', 'URL:a', '']);
  });

  it('removes statuses once they and all that follow them have expired', () => {
    const table = new StatusTable(LARGE);
    table.set('URL:a', expiring('BLOCKED', NOW, ['ALLOWED', NOW + 2]));
    table.set('URL:b', expiring('BLOCKED', NOW));
    table.set('URL:c', expiring('BLOCKED', NOW, ['ALLOWED', null]));
    expect([...table.deleteExpired(NOW - 1)]).toEqual([]);
    expect(table.size).toBe(3);
    expect([...table.deleteExpired(NOW + 1)]).toEqual(['URL:b']);
    expect([table.size, table.get('URL:b', 0)]).toEqual([2, undefined]);
    expect([...table.deleteExpired(LATEST)]).toEqual(['URL:a']);
    expect([table.size, table.get('URL:c', LATEST)?.status]).toEqual([1, 'ALLOWED']);
  });

  it('distinguishes keys whose hashes share a slot', () => {
    const table = new StatusTable(LARGE);
    for (let n = 0; n < 5_000; n += 1)
      table.set(`URL:${n}`, { status: n % 2 === 0 ? 'BLOCKED' : 'ALLOWED', match: `m${n}`, since: n });
    const wrong: unknown[] = [];
    for (let n = 0; n < 50_000; n += 1) {
      const found = table.get(`URL:${n}`, 0);
      if (n < 5_000 ? found?.match !== `m${n}` || found.since !== n : found !== undefined) wrong.push({ n, found });
    }
    expect(wrong).toEqual([]);
  });
});
