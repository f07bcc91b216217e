import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { decode } from '../../docs/examples/local-list.js';
import { encodeRice, type RiceCoded, wordsOfHashes, wordsOfIndices } from '../../src/lists/rice.js';
import { decoded, sent } from './client.js';
import { listOf, randomHashes } from './random-hashes.js';

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const bytes = (text: string): Uint8Array => Buffer.from(text, 'hex');

/** The first bytes of the hashes of the three hosts in the documentation of Safe Browsing v5, in ascending order. */
const documented = (length: number): string =>
  ['b', 'a', 'y']
    .map((name) => createHash('sha256').update(`${name}.example.com/`).digest('hex'))
    .map((digest) => digest.slice(0, 2 * length))
    .sort()
    .join('');

describe('Rice coding', () => {
  it('codes the documented 4-byte hashes of Safe Browsing v5', async () => {
    const numbers = Uint32Array.from(documented(4).match(/.{8}/g)!, (text) => parseInt(text, 16));
    const coded = await encodeRice(wordsOfIndices(numbers), 32);
    expect({ ...coded, encodedData: hex(coded.encodedData) }).toEqual({
      firstValue: 489866504n,
      riceParameter: 30,
      entriesCount: 2,
      encodedData: '7400d2971bed497400',
    });
    expect(decoded(coded)).toEqual(Array.from(numbers, BigInt));
  });

  it('codes the same hosts with 8 bytes as Google does', async () => {
    const coded = await encodeRice(wordsOfHashes(bytes(documented(8))), 64);
    expect({ ...coded, encodedData: hex(coded.encodedData) }).toEqual({
      firstValue: 2103960615330909784n,
      riceParameter: 62,
      entriesCount: 2,
      encodedData: 'ea8dcda97300d297cb63717b1aed497400',
    });
    expect(hex(listOf(decoded(coded)))).toBe(documented(8));
  });

  it.each([
    ['22', 3],
    ['0202', 7],
    ['020400', 8],
  ])('reads the bits of %s from the lowest bit of each byte on, with parameter %d', (data, riceParameter) => {
    const coded = { firstValue: 0x30303030n, riceParameter, entriesCount: 2, encodedData: bytes(data) };
    expect(decoded(coded)).toEqual([0x30303030n, 0x30303031n, 0x30303032n]);
  });

  it('codes a single number as its first value', async () => {
    const coded = await encodeRice(wordsOfHashes(bytes('ffffffffffffffff')), 64);
    expect(coded).toEqual({
      firstValue: 2n ** 64n - 1n,
      riceParameter: 0,
      entriesCount: 0,
      encodedData: new Uint8Array(),
    });
    expect(hex(listOf(decoded(coded)))).toBe('ffffffffffffffff');
  });

  it.each([2, 3, 10, 1_000, 30_000])('decodes %d random hashes to what was coded', async (count) => {
    const hashes = randomHashes(count, count);
    const coded = await encodeRice(wordsOfHashes(hashes), 64);
    expect(hex(listOf(decoded(coded)))).toBe(hex(hashes));
  });

  it('codes hashes at both ends, beside one another, and with a borrow between their halves', async () => {
    const hashes = bytes(
      '0000000000000000000000000000000100000000ffffffff0000000100000000fffffffffffffffeffffffffffffffff',
    );
    const coded = await encodeRice(wordsOfHashes(hashes), 64);
    expect(hex(listOf(decoded(coded)))).toBe(hex(hashes));
  });

  it('codes indices beside one another and far from one another', async () => {
    const indices = Uint32Array.of(0, 1, 2, 3, 350_000, 2 ** 32 - 1);
    expect(decoded(await encodeRice(wordsOfIndices(indices), 32))).toEqual(Array.from(indices, BigInt));
  });

  it('takes less than 6.1 bytes per hash of a list of 352,000', async () => {
    const count = 352_000;
    const { encodedData } = await encodeRice(wordsOfHashes(randomHashes(count, 1)), 64);
    expect(encodedData.length / count).toBeLessThan(6.1);
  });

  it.each<[what: string, change: Partial<RiceCoded>]>([
    ['more numbers than a client reads', { entriesCount: 4_000_000, encodedData: new Uint8Array(2_000_000) }],
    ['fewer than no numbers', { entriesCount: -1 }],
    ['a parameter below 0', { riceParameter: -1 }],
    ['a parameter beyond 64 bits', { riceParameter: 64, encodedData: new Uint8Array(20) }],
    ['data that end too early', { entriesCount: 3 }],
    ['data that are longer than their numbers', { encodedData: new Uint8Array(30) }],
  ])('is refused by a client with %s, before memory is reserved', (_, change) => {
    const good: RiceCoded = { firstValue: 5n, riceParameter: 3, entriesCount: 2, encodedData: bytes('22') };
    expect(decoded(good)).toEqual([5n, 6n, 7n]);
    expect(() => decode(sent({ ...good, ...change }))).toThrow('cannot be');
  });
});
