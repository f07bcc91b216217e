import { RICE_WIDTHS, type RiceCoded, type RiceWidth, type Words } from '../../src/lists/rice.js';
import { applyChange, countOf, HASH_BYTES } from '../../src/lists/sorted-hashes.js';

/**
 * Decodes numbers.
 * @param maxNumbers the most numbers that are accepted
 * @throws RangeError if the coding is malformed: its parameter or number is not allowed, its data end too early or have
 *   further bytes or set bits, or a number is not greater than its predecessor or exceeds the width
 */
export const decodeRice = (
  { firstValue, riceParameter, entriesCount, encodedData }: RiceCoded,
  width: RiceWidth,
  maxNumbers: number,
): Words => {
  const { min, max } = RICE_WIDTHS[width];
  const refuse = (issue: string): never => {
    throw new RangeError(`The Rice-coded data are malformed: ${issue}`);
  };
  const limit = 1n << BigInt(width);
  if (firstValue < 0n || firstValue >= limit) refuse(`firstValue is not a number of ${width} bits`);
  if (!Number.isInteger(entriesCount) || entriesCount < 0 || entriesCount >= maxNumbers)
    refuse(`entriesCount is ${entriesCount}; it must be less than ${maxNumbers}`);
  const isSingle = entriesCount === 0;
  if (isSingle ? riceParameter !== 0 : !(riceParameter >= min && riceParameter <= max))
    refuse(`riceParameter is ${riceParameter}; it must be ${isSingle ? '0' : `from ${min} to ${max}`}`);
  // Checked before memory is reserved: each number takes at least a bit for the quotient, and the remainder.
  if (encodedData.length * 8 < entriesCount * (riceParameter + 1)) refuse('encodedData ends too early');
  const words = new Uint32Array(2 * (entriesCount + 1));
  const parameter = BigInt(riceParameter);
  let at = 0;
  const nextBit = (): number => {
    if (at >= encodedData.length * 8) refuse('encodedData ends too early');
    const bit = (encodedData[at >>> 3]! >>> (at & 7)) & 1;
    at += 1;
    return bit;
  };
  let value = firstValue;
  for (let n = 0; n <= entriesCount; n++) {
    if (n > 0) {
      let quotient = 0n;
      while (nextBit() === 1) quotient += 1n;
      let remainder = 0n;
      for (let bit = 0n; bit < parameter; bit++) if (nextBit() === 1) remainder |= 1n << bit;
      const difference = (quotient << parameter) | remainder;
      if (difference === 0n) refuse(`number ${n} is equal to its predecessor`);
      value += difference;
    }
    if (value >= limit) refuse(`number ${n} exceeds ${width} bits`);
    words[2 * n] = Number(value >> 32n);
    words[2 * n + 1] = Number(value & 0xffffffffn);
  }
  if (Math.ceil(at / 8) !== encodedData.length) refuse('encodedData has further bytes');
  while (at < encodedData.length * 8) if (nextBit() === 1) refuse('a bit after the last number is set');
  return words;
};

export const hashesOfWords = (words: Words): Uint8Array => {
  const hashes = new Uint8Array(4 * words.length);
  const view = new DataView(hashes.buffer);
  for (const [n, word] of words.entries()) view.setUint32(4 * n, word);
  return hashes;
};

export const indicesOfWords = (words: Words): Uint32Array => words.filter((_, n) => n % 2 === 1);

/** Returns the list that follows when these indices are removed and then these hashes are added, as a client does. */
export const updateList = (before: Uint8Array, removals: Uint32Array, added: Uint8Array): Uint8Array => {
  const removed = new Uint8Array(removals.length * HASH_BYTES);
  for (const [n, index] of removals.entries()) {
    if (index >= countOf(before) || (n > 0 && index <= removals[n - 1]!))
      throw new RangeError(`Index ${index} of a removal is not ascending, or beyond the ${countOf(before)} hashes`);
    removed.set(before.subarray(index * HASH_BYTES, (index + 1) * HASH_BYTES), n * HASH_BYTES);
  }
  return applyChange(before, { removed, added });
};
