import { CooperativeYield } from '../../flow/time.js';
import { digestOf } from '../expressions.js';
import { compare, HASH_BYTES, lowerBound, wordsOf } from '../sorted-hashes.js';

/** Hashes in ascending order without duplicates, 8 bytes each, big endian; and the group of each. */
export interface GroupedHashes {
  readonly hashes: Uint8Array;
  readonly groups: Uint32Array;
}

/** How many hashes are moved between two looks at the clock, some 0.1 ms. */
const HASHES_PER_LOOK = 1_024;
/** Hashes are sorted in parts, by their first bits. */
const PART_BITS = 10;

/** Returns the index of the first value from `from` on that is not less. */
const indexOf = (values: BigUint64Array, from: number, to: number, value: bigint): number => {
  let [low, high] = [from, to];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low;
};

/** Returns the hash of an expression as a number. */
export const hashOf = (expression: string): bigint => digestOf(expression).readBigUInt64BE();

/** Collects the hashes of expressions, each with its group. */
export class HashCollector {
  private values = new BigUint64Array(1 << PART_BITS);
  private groups = new Uint32Array(1 << PART_BITS);
  private end = 0;

  add(expression: string, group: number): void {
    if (this.end === this.values.length) {
      const [values, groups] = [this.values, this.groups];
      this.values = new BigUint64Array(2 * this.end);
      this.groups = new Uint32Array(2 * this.end);
      this.values.set(values);
      this.groups.set(groups);
    }
    this.values[this.end] = hashOf(expression);
    this.groups[this.end] = group;
    this.end += 1;
  }

  /** Returns the hashes, sorted and each once. Lets other work run in between. */
  async sorted(): Promise<GroupedHashes> {
    const { values, groups, end } = this;
    const yielding = new CooperativeYield();
    // The part of a value is read from its upper half, because a bigint takes longer.
    const halves = new Uint32Array(values.buffer);
    const partOf = (n: number): number => halves[2 * n + 1]! >>> (32 - PART_BITS);
    const ends = new Uint32Array((1 << PART_BITS) + 1);
    for (let n = 0; n < end; n += 1) {
      ends[partOf(n) + 1]! += 1;
      if (n % HASHES_PER_LOOK === 0 && yielding.isDue()) await yielding.yieldNow();
    }
    for (let part = 1; part < ends.length; part += 1) ends[part]! += ends[part - 1]!;
    const starts = ends.slice();
    const sorted = new BigUint64Array(end);
    const origins = new Uint32Array(end);
    for (let n = 0; n < end; n += 1) {
      const part = partOf(n);
      origins[ends[part]!] = n;
      sorted[ends[part]!] = values[n]!;
      ends[part]! += 1;
      if (n % HASHES_PER_LOOK === 0 && yielding.isDue()) await yielding.yieldNow();
    }
    const groupsOfSorted = new Uint32Array(end);
    let count = 0;
    for (let part = 0; part < 1 << PART_BITS; part += 1) {
      const [from, to, first] = [starts[part]!, starts[part + 1]!, count];
      sorted.subarray(from, to).sort();
      for (let at = from; at < to; at += 1)
        if (at === from || sorted[at] !== sorted[at - 1]) {
          sorted[count] = sorted[at]!;
          count += 1;
        }
      for (let at = from; at < to; at += 1) {
        const origin = origins[at]!;
        groupsOfSorted[indexOf(sorted, first, count, values[origin]!)] = groups[origin]!;
      }
      if (yielding.isDue()) await yielding.yieldNow();
    }
    const hashes = new Uint8Array(sorted.buffer.slice(0, count * HASH_BYTES));
    Buffer.from(hashes.buffer).swap64();
    return { hashes, groups: groupsOfSorted.slice(0, count) };
  }
}

/** Returns hashes with those of some groups replaced; the same object if nothing changes. */
export const replaceGroups = (
  before: GroupedHashes,
  isReplaced: (group: number) => boolean,
  after: GroupedHashes,
): GroupedHashes => {
  const [ofBefore, ofAfter] = [wordsOf(before.hashes), wordsOf(after.hashes)];
  const removed: number[] = [];
  for (let at = 0; at < before.groups.length; at += 1) if (isReplaced(before.groups[at]!)) removed.push(at);
  const isSame =
    removed.length === after.groups.length &&
    removed.every((at, n) => compare(ofBefore, at * HASH_BYTES, ofAfter, n * HASH_BYTES) === 0);
  if (isSame) return before;
  const size = before.groups.length - removed.length + after.groups.length;
  const [hashes, groups] = [new Uint8Array(size * HASH_BYTES), new Uint32Array(size)];
  let [from, to, next] = [0, 0, 0];
  const copy = ({ hashes: source, groups: sourceGroups }: GroupedHashes, start: number, end: number): void => {
    hashes.set(source.subarray(start * HASH_BYTES, end * HASH_BYTES), to * HASH_BYTES);
    groups.set(sourceGroups.subarray(start, end), to);
    to += end - start;
  };
  const copyUntil = (end: number): void => {
    while (next < removed.length && removed[next]! < end) {
      copy(before, from, removed[next]!);
      from = removed[next]! + 1;
      next += 1;
    }
    copy(before, from, end);
    from = end;
  };
  for (let at = 0; at < after.groups.length; at += 1) {
    copyUntil(lowerBound(ofBefore, from * HASH_BYTES, ofAfter, at * HASH_BYTES) / HASH_BYTES);
    copy(after, at, at + 1);
  }
  copyUntil(before.groups.length);
  return { hashes, groups };
};
