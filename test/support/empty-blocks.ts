const GZIP_HEADER = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];

/** The order in which deflate sends the lengths of its code for code lengths (RFC 1951, 3.2.7). */
const LENGTHS_IN_ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1];
/** Symbol 18 (a run of zeros) has one bit, the lengths 0 and 1 have two. */
const LENGTHS: Readonly<Record<number, number>> = { 18: 1, 0: 2, 1: 2 };

const number = (value: number, bits: number): string =>
  value.toString(2).padStart(bits, '0').split('').reverse().join('');

/** A block with a dynamic Huffman code that contains only the end-of-block symbol: 92 bits. */
const BLOCK = [
  number(0, 1),
  number(2, 2),
  number(0, 5),
  number(0, 5),
  number(LENGTHS_IN_ORDER.length - 4, 4),
  ...LENGTHS_IN_ORDER.map((symbol) => number(LENGTHS[symbol] ?? 0, 3)),
  // 138 and 118 zeros, a 1 for the end-of-block symbol, no distances, and then the end-of-block symbol itself.
  `0${number(138 - 11, 7)}`,
  `0${number(118 - 11, 7)}`,
  '11',
  '10',
  '0',
].join('');

const TWO_BLOCKS = Buffer.from(
  BLOCK.repeat(2)
    .match(/.{8}/g)!
    .map((byte) => parseInt(byte.split('').reverse().join(''), 2)),
);

/**
 * Returns the beginning of a gzip body of empty blocks. It decompresses to nothing, and for each block the reader must
 * build a Huffman code.
 */
export const emptyBlocks = (bytes: number): Buffer =>
  Buffer.concat([Buffer.from(GZIP_HEADER), Buffer.alloc(bytes - GZIP_HEADER.length, TWO_BLOCKS)]);
