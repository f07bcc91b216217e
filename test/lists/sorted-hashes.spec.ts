import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import {
  applyChange,
  type Change,
  changeBetween,
  checksumOf,
  countOf,
  mergeChanges,
  removalIndices,
  requireSorted,
} from '../../src/lists/sorted-hashes.js';
import { Random } from '../support/random.js';
import { updateList } from './client.js';
import { listOf, randomHashes } from './random-hashes.js';

const list = (...numbers: number[]): Uint8Array => listOf(numbers.map(BigInt));
const EMPTY = list();
/** Beyond 2 ** 63 and 2 ** 32, where signed or halved numbers would be in another order. */
const HIGH = [2n ** 64n - 1n, 2n ** 63n, 2n ** 63n - 1n, 2n ** 32n, 2n ** 32n - 1n, 0n];

describe('a list of hashes', () => {
  it('has only what two lists do not share in the change between them', () => {
    expect(changeBetween(list(1, 2, 3, 5), list(2, 4, 5, 6))).toEqual({ removed: list(1, 3), added: list(4, 6) });
    expect(changeBetween(EMPTY, list(1))).toEqual({ removed: EMPTY, added: list(1) });
    expect(changeBetween(list(1), EMPTY)).toEqual({ removed: list(1), added: EMPTY });
  });

  it('is sorted as unsigned numbers', () => {
    const hashes = listOf(HIGH);
    expect(() => requireSorted(hashes)).not.toThrow();
    expect(applyChange(EMPTY, changeBetween(EMPTY, hashes))).toEqual(hashes);
    expect(applyChange(hashes, changeBetween(hashes, EMPTY))).toEqual(EMPTY);
    expect([...removalIndices(list(1), { removed: hashes, added: list(1) })]).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it.each([
    ['a duplicate', Buffer.concat([list(1), list(1)])],
    ['a lesser hash', Buffer.concat([list(2), list(1)])],
    ['a part of a hash', list(1).subarray(1)],
  ])('is refused with %s', (_, hashes) => {
    expect(() => requireSorted(hashes)).toThrow(RangeError);
  });

  it.each<[string, Change]>([
    ['removes what the list lacks', { removed: list(2), added: EMPTY }],
    ['removes more than the list has', { removed: list(1, 2, 3, 4), added: EMPTY }],
    ['adds what the list has', { removed: EMPTY, added: list(3) }],
    ['removes and adds the same', { removed: list(1), added: list(1) }],
    ['lacks a removal and has another', { removed: list(0), added: list(5) }],
  ])('refuses a change that %s', (_, change) => {
    expect(() => applyChange(list(1, 3), change)).toThrow('does not fit');
  });

  it('is refused by a client if an update does not lead to its checksum', async () => {
    const after = list(1, 2);
    expect(await updateList(list(1, 3), Uint32Array.of(1), list(2), after)).toEqual(after);
    await expect(updateList(list(1, 3), Uint32Array.of(2), list(2), after)).rejects.toThrow('checksum');
    await expect(updateList(list(1, 3), new Uint32Array(), list(2), after)).rejects.toThrow('checksum');
    await expect(updateList(list(1, 2), new Uint32Array(), list(2), after)).rejects.toThrow('checksum');
  });

  it('merges away what is removed and added again, and what is added and removed again', async () => {
    const steps = [
      { removed: list(1), added: list(7) },
      { removed: list(2, 7), added: list(1, 8) },
      { removed: list(8), added: list(7) },
    ];
    expect(await mergeChanges(steps)).toEqual({ removed: list(2), added: list(7) });
  });

  it('is the same for a client of any age, by indices that are computed from the newest list', async () => {
    const random = new Random(7);
    const pool = [...HIGH, ...Array.from({ length: 250 }, (_, n) => BigInt(n) << BigInt(n % 60))];
    let current = EMPTY;
    const versions = [current];
    const steps: Change[] = [];
    for (let version = 0; version < 300; version++) {
      const share = random.next();
      const after = listOf(pool.filter(() => random.chance(share)));
      steps.push(changeBetween(current, after));
      expect(applyChange(current, steps.at(-1)!)).toEqual(after);
      versions.push((current = after));
    }
    for (const [age, before] of versions.entries()) {
      const change = await mergeChanges(steps.slice(age));
      const removals = removalIndices(current, change);
      expect(await updateList(before, removals, change.added, current)).toEqual(current);
    }
  });

  it('has the SHA-256 of its bytes as its checksum', async () => {
    const hashes = randomHashes(100_000, 3);
    expect(countOf(hashes)).toBe(100_000);
    expect(await checksumOf(hashes)).toEqual(createHash('sha256').update(hashes).digest());
  });
});
