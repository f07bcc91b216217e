import { CooperativeYield } from '../flow/time.js';

/**
 * Ascending numbers in the Rice-Golomb coding of Safe Browsing v5. The numbers after the first one are coded as
 * differences to their predecessors: the quotient by 2 ** riceParameter in unary (ones, then a zero), then the remainder.
 * The bits fill each byte from its least significant bit on, and the remainder begins with its least significant bit.
 */
export interface RiceCoded {
  readonly firstValue: bigint;
  /** 0 if `entriesCount` is 0. */
  readonly riceParameter: number;
  /** The number of differences: one less than the numbers. */
  readonly entriesCount: number;
  readonly encodedData: Uint8Array;
}

/** The width of the numbers in bits, with the parameters that Safe Browsing v5 allows for it. */
const RICE_WIDTHS = { 32: { min: 3, max: 30 }, 64: { min: 35, max: 62 } } as const;
type RiceWidth = keyof typeof RICE_WIDTHS;

const TWO_32 = 2 ** 32;

/** Numbers as pairs of 32-bit words, the high word first. */
export type Words = Uint32Array;

/** Writes up to `bits` bits. */
class BitWriter {
  readonly bytes: Uint8Array;
  private at = 0;

  constructor(bits: number) {
    this.bytes = new Uint8Array(Math.ceil(bits / 8));
  }

  ones(count: number): void {
    for (let left = count; left > 0; left -= 31) this.bits(0x7fffffff, Math.min(left, 31));
  }

  /** @param count of the low bits of `value`, at most 32 */
  bits(value: number, count: number): void {
    let rest = value >>> 0;
    for (let left = count; left > 0;) {
      const shift = this.at & 7;
      const taken = Math.min(8 - shift, left);
      this.bytes[this.at >>> 3]! |= (rest & ((1 << taken) - 1)) << shift;
      rest >>>= taken;
      this.at += taken;
      left -= taken;
    }
  }
}

/** The parameter for numbers that are spread evenly: differences are then about 2 ** parameter. */
const parameterFor = (range: number, count: number, { min, max }: { readonly min: number; readonly max: number }) =>
  Math.min(Math.max(Math.floor(Math.log2((range / count) * Math.LN2)), min), max);

/**
 * Codes ascending numbers, and lets other work run in between.
 * @param words not empty
 */
export const encodeRice = async (words: Words, width: RiceWidth): Promise<RiceCoded> => {
  const yielding = new CooperativeYield();
  const count = words.length / 2 - 1;
  const firstValue = (BigInt(words[0]!) << 32n) | BigInt(words[1]!);
  if (count === 0) return { firstValue, riceParameter: 0, entriesCount: 0, encodedData: new Uint8Array() };
  const last = words.length - 2;
  const range = (words[last]! - words[0]!) * TWO_32 + words[last + 1]! - words[1]!;
  const riceParameter = parameterFor(Math.max(range, 1), count, RICE_WIDTHS[width]);
  // The sum of the quotients is at most the quotient of the sum.
  const writer = new BitWriter(count * (riceParameter + 1) + Math.floor(range / 2 ** riceParameter) + 1);
  const lowBits = Math.min(riceParameter, 32);
  const highBits = riceParameter - lowBits;
  let bits = 0;
  for (let i = 2; i < words.length; i += 2) {
    const borrow = words[i + 1]! < words[i - 1]! ? 1 : 0;
    const high = words[i]! - words[i - 2]! - borrow;
    const low = (words[i + 1]! - words[i - 1]!) >>> 0;
    const quotient = Math.floor(
      riceParameter < 32 ? high * 2 ** (32 - riceParameter) + low / 2 ** riceParameter : high / 2 ** highBits,
    );
    writer.ones(quotient);
    writer.bits(0, 1);
    writer.bits(low, lowBits);
    writer.bits(high, highBits);
    bits += quotient + 1 + riceParameter;
    if (i % 512 === 0 && yielding.isDue()) await yielding.yieldNow();
  }
  return { firstValue, riceParameter, entriesCount: count, encodedData: writer.bytes.subarray(0, Math.ceil(bits / 8)) };
};

/** Returns a list of 8-byte hashes, big endian, as words. */
export const wordsOfHashes = (hashes: Uint8Array): Words => {
  const view = new DataView(hashes.buffer, hashes.byteOffset, hashes.byteLength);
  return Uint32Array.from({ length: hashes.length / 4 }, (_, n) => view.getUint32(4 * n));
};

/** Returns numbers of 32 bits as words. */
export const wordsOfIndices = (indices: Uint32Array): Words => {
  const words = new Uint32Array(2 * indices.length);
  for (const [n, index] of indices.entries()) words[2 * n + 1] = index;
  return words;
};
