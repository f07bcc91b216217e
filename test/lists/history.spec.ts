import { describe, expect, it } from '@jest/globals';
import { History } from '../../src/lists/history.js';
import { listOf } from './random-hashes.js';

const EMPTY = new Uint8Array();
const added = (number: number) => ({ removed: EMPTY, added: listOf([BigInt(number)]) });
const version = (number: number) => ({ number, mark: String(number).padStart(16, '0') });

describe('The history of a list', () => {
  it('has the changes after a version, and knows a version only by number and mark', () => {
    const history = new History(1_000);
    for (const number of [1, 2, 3]) history.add(version(number), added(number));
    expect(history.after(version(1))).toEqual({ changes: [added(2), added(3)], hashes: 2 });
    expect(history.after(version(3))).toEqual({ changes: [], hashes: 0 });
    expect(history.after(version(4))).toBeUndefined();
    expect(history.after({ ...version(1), mark: 'f'.repeat(16) })).toBeUndefined();
  });

  it('drops the oldest changes beyond its budget, and leaves those that are being read unchanged', () => {
    const history = new History(8_000);
    for (let number = 1; number <= 10; number++) history.add(version(number), added(number));
    const read = history.after(version(8))!;
    for (let number = 11; number <= 1_000; number++) history.add(version(number), added(number));
    expect(history.size).toBeLessThanOrEqual(8_000);
    expect(history.after(version(700))).toBeUndefined();
    expect([...history.after(version(998))!.changes]).toEqual([added(999), added(1_000)]);
    expect([...read.changes]).toEqual([added(9), added(10)]);
  });

  it('forgets what was before a change that exceeds its budget', () => {
    const history = new History(100);
    history.add(version(1), added(1));
    history.add(version(2), { removed: EMPTY, added: listOf(Array.from({ length: 20 }, (_, n) => BigInt(n))) });
    history.add(version(3), added(3));
    expect(history.after(version(1))).toBeUndefined();
    expect([...history.after(version(2))!.changes]).toEqual([added(3)]);
  });
});
