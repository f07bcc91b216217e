import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { decode } from '../../../docs/examples/local-list.js';
import type { HashList } from '../../../src/lists/safe-browsing/messages.js';
import { PrefixLists } from '../../../src/lists/safe-browsing/prefix-lists.js';
import type { ServedList } from '../../../src/lists/served-list.js';
import { changeBetween } from '../../../src/lists/sorted-hashes.js';
import { listOf, randomHashes } from '../random-hashes.js';

const MARK = '0123456789abcdef';

/** A list whose versions are these, numbered from 1. */
const served = (...versions: readonly Uint8Array[]): ServedList => {
  const hashes = versions.at(-1)!;
  return {
    name: 'all-8b',
    served: { name: 'all-8b', version: { token: `${versions.length}-${MARK}`, hashes }, head: {} },
    canUpdate: ({ number }: { readonly number: number }) => number < versions.length,
    changeSince: ({ number }: { readonly number: number }) =>
      Promise.resolve(changeBetween(versions[number - 1]!, hashes)),
  } as unknown as ServedList;
};

type Coded = HashList['compressedRemovals'];
const numbersOf = (coded: Coded): number[] =>
  coded === undefined
    ? []
    : Array.from(
        decode({
          ...coded,
          firstValue: String(coded.firstValue),
          encodedData: Buffer.from(coded.encodedData).toString('base64'),
        }),
        Number,
      );

/** Returns the prefixes of a client after an update, whose checksum must be right. */
const updated = (list: HashList, before: readonly number[]): number[] => {
  const removed = new Set(numbersOf(list.compressedRemovals));
  const kept = list.partialUpdate === true ? before.filter((_, n) => !removed.has(n)) : [];
  const prefixes = [...kept, ...numbersOf(list.additionsFourBytes)].sort((one, other) => one - other);
  const bytes = Buffer.concat(prefixes.map((prefix) => Buffer.from(Uint32Array.of(prefix).buffer).swap32()));
  expect(createHash('sha256').update(bytes).digest()).toEqual(list.sha256Checksum);
  return prefixes;
};

const since = (number: number): string => `all-4b ${number}-${MARK}`;

describe('The prefixes of a list', () => {
  it('are each sent once, and leave with the last hash that begins with them', async () => {
    const [one, two, other] = [0x1000000001n, 0x1000000002n, 0x2000000000n];
    const versions = [[one, two, other], [two, other], [other]].map(listOf);
    const read = async (count: number, version?: string): Promise<HashList> =>
      new PrefixLists([served(...versions.slice(0, count))]).read('all-4b', version === undefined ? [] : [version]);
    const first = updated(await read(1), []);
    expect(first).toEqual([0x10, 0x20]);
    const second = await read(2, since(1));
    expect([second.partialUpdate, second.compressedRemovals, second.additionsFourBytes]).toEqual([
      true,
      undefined,
      undefined,
    ]);
    // The removal of the first entry is a part that is present.
    const third = await read(3, since(2));
    expect(third.compressedRemovals).toMatchObject({ firstValue: 0, entriesCount: 0 });
    expect(updated(third, updated(second, first))).toEqual([0x20]);
  });

  it('are updated from each earlier version', async () => {
    const versions = Array.from({ length: 5 }, (_, n) => randomHashes(300 + 10 * n, n % 2));
    const wholes = await Promise.all(
      versions.map(async (_, n) =>
        updated(await new PrefixLists([served(...versions.slice(0, n + 1))]).read('all-4b', []), []),
      ),
    );
    const lists = new PrefixLists([served(...versions)]);
    for (let number = 1; number < versions.length; number += 1) {
      const update = await lists.read('all-4b', ['own-4b 1-0', since(number)]);
      expect(update.partialUpdate).toBe(true);
      expect(updated(update, wholes[number - 1]!)).toEqual(wholes.at(-1));
    }
  });

  it('are sent whole for a version of another list, and of a list that does not exist are none', async () => {
    const lists = new PrefixLists([served(randomHashes(9, 1), randomHashes(10, 1))]);
    expect((await lists.read('all-4b', [`own-4b 1-${MARK}`])).partialUpdate).toBeUndefined();
    const unknown = await lists.read('constructor', []);
    expect(updated(unknown, [])).toEqual([]);
  });
});
