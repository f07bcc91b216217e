import { createHash } from 'node:crypto';
import { CooperativeYield } from '../flow/time.js';

/** A list of hashes is their bytes, big endian, in ascending order and without duplicates. */
export const HASH_BYTES = 8;

/** What changes between two versions of a list. Both are lists of hashes. */
export interface Change {
  /** Hashes that only the list of before has. */
  readonly removed: Uint8Array;
  /** Hashes that only the list of afterwards has. */
  readonly added: Uint8Array;
}

export const countOf = (hashes: Uint8Array): number => hashes.length / HASH_BYTES;

/** A list of hashes as 32-bit words, which are compared faster than bytes or `bigint`. */
export const wordsOf = (hashes: Uint8Array): DataView =>
  new DataView(hashes.buffer, hashes.byteOffset, hashes.byteLength);

export const bufferOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength);

/** Compares the hash at byte `i` of `a` with the hash at byte `j` of `b`, as unsigned numbers. */
export const compare = (a: DataView, i: number, b: DataView, j: number): number =>
  a.getUint32(i) - b.getUint32(j) || a.getUint32(i + 4) - b.getUint32(j + 4);

/** @throws RangeError unless the bytes are hashes in ascending order, without duplicates */
export const requireSorted = (hashes: Uint8Array): void => {
  if (hashes.length % HASH_BYTES !== 0)
    throw new RangeError(`A list of hashes has ${hashes.length} bytes, which is no multiple of ${HASH_BYTES}`);
  const words = wordsOf(hashes);
  for (let i = HASH_BYTES; i < hashes.length; i += HASH_BYTES)
    if (compare(words, i - HASH_BYTES, words, i) >= 0)
      throw new RangeError(`Hash ${i / HASH_BYTES} of a list is not greater than the hash before it`);
};

/** Returns the byte of the first hash in `hashes`, from byte `from` on, that is not less than the hash at byte `j` of `b`. */
export const lowerBound = (hashes: DataView, from: number, b: DataView, j: number): number => {
  let low = from / HASH_BYTES;
  let high = hashes.byteLength / HASH_BYTES;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compare(hashes, middle * HASH_BYTES, b, j) < 0) low = middle + 1;
    else high = middle;
  }
  return low * HASH_BYTES;
};

/** Returns the index of a hash in a list; -1 if the list does not have it. */
export const indexOfHash = (hashes: Uint8Array, hash: Uint8Array): number => {
  const [words, wanted] = [wordsOf(hashes), wordsOf(hash)];
  const at = lowerBound(words, 0, wanted, 0);
  return at < hashes.length && compare(words, at, wanted, 0) === 0 ? at / HASH_BYTES : -1;
};

/** Returns the hashes of a list one by one. They share the memory of the list. */
export const splitHashes = (hashes: Uint8Array): Buffer[] => {
  const bytes = bufferOf(hashes);
  return Array.from({ length: countOf(hashes) }, (_, n) => bytes.subarray(n * HASH_BYTES, (n + 1) * HASH_BYTES));
};

/** Returns the hashes of `a` that `b` does not have. */
export const without = (a: Uint8Array, b: Uint8Array): Uint8Array => {
  const rest = new Uint8Array(a.length);
  const [ofA, ofB] = [wordsOf(a), wordsOf(b)];
  let size = 0;
  let from = 0;
  let j = 0;
  const keepUntil = (end: number): void => {
    rest.set(a.subarray(from, end), size);
    size += end - from;
  };
  for (let i = 0; i < a.length; i += HASH_BYTES) {
    while (j < b.length && compare(ofB, j, ofA, i) < 0) j += HASH_BYTES;
    if (j >= b.length) break;
    if (compare(ofB, j, ofA, i) !== 0) continue;
    keepUntil(i);
    from = i + HASH_BYTES;
  }
  keepUntil(a.length);
  return rest.slice(0, size);
};

/** Returns what changes from one list to another. */
export const changeBetween = (before: Uint8Array, after: Uint8Array): Change => ({
  removed: without(before, after),
  added: without(after, before),
});

/**
 * Returns the list after a change.
 * @throws RangeError if the list lacks a removed hash or has an added hash: the change belongs to another list
 */
export const applyChange = (before: Uint8Array, { removed, added }: Change): Uint8Array => {
  const size = before.length - removed.length + added.length;
  const misfit = new RangeError('A change of a list does not fit the list');
  if (size < 0) throw misfit;
  const after = new Uint8Array(size);
  const [list, ofRemoved, ofAdded] = [wordsOf(before), wordsOf(removed), wordsOf(added)];
  let [from, to, i, j] = [0, 0, 0, 0];
  while (i < removed.length || j < added.length) {
    const order = i >= removed.length ? 1 : j >= added.length ? -1 : compare(ofRemoved, i, ofAdded, j);
    if (order === 0) throw misfit;
    const at = order < 0 ? lowerBound(list, from, ofRemoved, i) : lowerBound(list, from, ofAdded, j);
    const isInList = at < before.length && compare(list, at, order < 0 ? ofRemoved : ofAdded, order < 0 ? i : j) === 0;
    if (isInList !== order < 0 || to + at - from > size) throw misfit;
    after.set(before.subarray(from, at), to);
    to += at - from;
    from = at;
    if (order < 0) {
      from += HASH_BYTES;
      i += HASH_BYTES;
    } else {
      if (to >= size) throw misfit;
      after.set(added.subarray(j, j + HASH_BYTES), to);
      to += HASH_BYTES;
      j += HASH_BYTES;
    }
  }
  after.set(before.subarray(from), to);
  return after;
};

/**
 * Returns the indices that the removed hashes have in the list before a change, from the list after the change: so the list
 * of before, which may be days old, need not be kept.
 */
export const removalIndices = (after: Uint8Array, { removed, added }: Change): Uint32Array => {
  const [list, ofRemoved, ofAdded] = [wordsOf(after), wordsOf(removed), wordsOf(added)];
  let at = 0;
  let ofAddedBefore = 0;
  return Uint32Array.from({ length: countOf(removed) }, (_, n) => {
    const i = n * HASH_BYTES;
    at = lowerBound(list, at, ofRemoved, i);
    ofAddedBefore = lowerBound(ofAdded, ofAddedBefore, ofRemoved, i);
    return (at - ofAddedBefore) / HASH_BYTES + n;
  });
};

/** How many hashes are merged between two looks at the clock. */
const HASHES_PER_LOOK = 512;

/**
 * Merges successive changes into one. A hash that was added and removed again, or removed and added again, is in neither
 * part of the result.
 */
export const mergeChanges = async (changes: Iterable<Change>): Promise<Change> => {
  const yielding = new CooperativeYield();
  /** Whether the first and the last change of a hash added it. */
  const hashes = new Map<bigint, { readonly first: boolean; last: boolean }>();
  let seen = 0;
  for (const { removed, added } of changes)
    for (const [isAdded, list] of [
      [false, removed],
      [true, added],
    ] as const) {
      const words = wordsOf(list);
      for (let i = 0; i < list.length; i += HASH_BYTES) {
        const hash = words.getBigUint64(i);
        const known = hashes.get(hash);
        if (known === undefined) hashes.set(hash, { first: isAdded, last: isAdded });
        else known.last = isAdded;
        if (++seen % HASHES_PER_LOOK === 0 && yielding.isDue()) await yielding.yieldNow();
      }
    }
  const pick = (isAdded: boolean): Uint8Array => {
    const picked = BigUint64Array.from(
      [...hashes].flatMap(([hash, { first, last }]) => (first === isAdded && last === isAdded ? [hash] : [])),
    ).sort();
    const bytes = new Uint8Array(picked.length * HASH_BYTES);
    const words = wordsOf(bytes);
    for (const [n, hash] of picked.entries()) words.setBigUint64(n * HASH_BYTES, hash);
    return bytes;
  };
  return { removed: pick(false), added: pick(true) };
};

/** Bytes that are digested at a time, about 0.2 ms. */
const DIGESTED_BYTES = 256 * 1024;

/** Returns the SHA-256 of a list, and lets other work run in between. */
export const checksumOf = async (hashes: Uint8Array): Promise<Buffer> => {
  const yielding = new CooperativeYield();
  const digest = createHash('sha256');
  for (let at = 0; at < hashes.length; at += DIGESTED_BYTES) {
    digest.update(hashes.subarray(at, at + DIGESTED_BYTES));
    if (yielding.isDue()) await yielding.yieldNow();
  }
  return digest.digest();
};
