import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type StoredStatus, StatusTable, TooManyStatuses } from '../../../src/asset-check/own/status-table.js';

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
        expect(keys.map((key) => table.get(key))).toEqual(keys.map((key) => map.get(key)));
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
    expect(table.get('URL:site-7.some-domain.example')?.since).toBe(1.7e12 + 4);
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
    for (let n = 0; n < table.size; n += 1) expect(table.get(`URL:${n}.example`)?.status).toBe('ALLOWED');
    for (let n = 1; n <= 600; n += 1) table.delete(`URL:${n}.example`);
    table.set('URL:1.other', { status: 'BLOCKED', match: '1.other', since: undefined });
    expect(table.get('URL:1.other')?.status).toBe('BLOCKED');
  });

  it('distinguishes keys whose hashes share a slot', () => {
    const table = new StatusTable(LARGE);
    for (let n = 0; n < 5_000; n += 1)
      table.set(`URL:${n}`, { status: n % 2 === 0 ? 'BLOCKED' : 'ALLOWED', match: `m${n}`, since: n });
    const wrong: unknown[] = [];
    for (let n = 0; n < 50_000; n += 1) {
      const found = table.get(`URL:${n}`);
      if (n < 5_000 ? found?.match !== `m${n}` || found.since !== n : found !== undefined) wrong.push({ n, found });
    }
    expect(wrong).toEqual([]);
  });
});
