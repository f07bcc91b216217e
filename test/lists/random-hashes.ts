import { createHash } from 'node:crypto';
import { HASH_BYTES } from '../../src/lists/sorted-hashes.js';

/** Returns a list of hashes: the same list for the same arguments. */
export const randomHashes = (count: number, seed: number): Uint8Array =>
  listOf(
    Array.from({ length: count }, (_, n) => createHash('sha256').update(`${seed} ${n}`).digest().readBigUInt64BE(0)),
  );

/** Returns these numbers as a list of hashes: sorted, without duplicates. */
export const listOf = (numbers: readonly bigint[]): Uint8Array => {
  const sorted = BigUint64Array.from(new Set(numbers)).sort();
  const bytes = Buffer.alloc(sorted.length * HASH_BYTES);
  for (const [n, number] of sorted.entries()) bytes.writeBigUInt64BE(number, n * HASH_BYTES);
  return new Uint8Array(bytes);
};
