import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { encodeRice, RICE_WIDTHS, type RiceCoded, wordsOfHashes, wordsOfIndices } from '../../src/lists/rice.js';
import { decodeRice, hashesOfWords, indicesOfWords } from './client.js';
import { randomHashes } from './random-hashes.js';

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
    expect(indicesOfWords(decodeRice(coded, 32, 3))).toEqual(numbers);
  });

  it('codes the same hosts with 8 bytes as Google does', async () => {
    const coded = await encodeRice(wordsOfHashes(bytes(documented(8))), 64);
    expect({ ...coded, encodedData: hex(coded.encodedData) }).toEqual({
      firstValue: 2103960615330909784n,
      riceParameter: 62,
      entriesCount: 2,
      encodedData: 'ea8dcda97300d297cb63717b1aed497400',
    });
    expect(hex(hashesOfWords(decodeRice(coded, 64, 3)))).toBe(documented(8));
  });

  it.each([
    ['22', 3],
    ['0202', 7],
    ['020400', 8],
  ])('reads the bits of %s from the lowest bit of each byte on, with parameter %d', (data, riceParameter) => {
    const coded = { firstValue: 0x30303030n, riceParameter, entriesCount: 2, encodedData: bytes(data) };
    expect([...indicesOfWords(decodeRice(coded, 32, 3))]).toEqual([0x30303030, 0x30303031, 0x30303032]);
  });

  it('codes a single number as its first value', async () => {
    const coded = await encodeRice(wordsOfHashes(bytes('ffffffffffffffff')), 64);
    expect(coded).toEqual({
      firstValue: 2n ** 64n - 1n,
      riceParameter: 0,
      entriesCount: 0,
      encodedData: new Uint8Array(),
    });
    expect(hex(hashesOfWords(decodeRice(coded, 64, 1)))).toBe('ffffffffffffffff');
  });

  it.each([2, 3, 10, 1_000, 30_000])('decodes %d random hashes to what was coded', async (count) => {
    const hashes = randomHashes(count, count);
    const coded = await encodeRice(wordsOfHashes(hashes), 64);
    expect(hex(hashesOfWords(decodeRice(coded, 64, count)))).toBe(hex(hashes));
  });

  it('codes hashes at both ends, beside one another, and with a borrow between their halves', async () => {
    const hashes = bytes(
      '0000000000000000000000000000000100000000ffffffff0000000100000000fffffffffffffffeffffffffffffffff',
    );
    const coded = await encodeRice(wordsOfHashes(hashes), 64);
    expect(hex(hashesOfWords(decodeRice(coded, 64, 6)))).toBe(hex(hashes));
  });

  it('codes indices beside one another and far from one another', async () => {
    const indices = Uint32Array.of(0, 1, 2, 3, 350_000, 2 ** 32 - 1);
    expect(indicesOfWords(decodeRice(await encodeRice(wordsOfIndices(indices), 32), 32, 6))).toEqual(indices);
  });

  it('takes less than 6.1 bytes per hash of a list of 352,000', async () => {
    const count = 352_000;
    const { encodedData } = await encodeRice(wordsOfHashes(randomHashes(count, 1)), 64);
    expect(encodedData.length / count).toBeLessThan(6.1);
  });

  describe('refuses', () => {
    const good: RiceCoded = { firstValue: 5n, riceParameter: 3, entriesCount: 2, encodedData: bytes('22') };
    const cases: [issue: string, change: Partial<RiceCoded>, maxNumbers?: number][] = [
      ['firstValue is not', { firstValue: 2n ** 32n }],
      ['firstValue is not', { firstValue: -1n }],
      ['entriesCount is 2; it must be less than 2', {}, 2],
      ['entriesCount is -1', { entriesCount: -1 }],
      ['riceParameter is 2; it must be from 3 to 30', { riceParameter: RICE_WIDTHS[32].min - 1 }],
      ['riceParameter is 31', { riceParameter: RICE_WIDTHS[32].max + 1 }],
      ['riceParameter is 3; it must be 0', { entriesCount: 0, encodedData: new Uint8Array() }],
      ['ends too early', { entriesCount: 3 }, 4],
      ['ends too early', { encodedData: bytes('ff') }],
      ['further bytes', { encodedData: bytes('2200') }],
      ['a bit after the last number is set', { entriesCount: 1, encodedData: bytes('22') }],
      ['number 1 is equal to its predecessor', { encodedData: bytes('20') }],
      ['number 1 exceeds 32 bits', { firstValue: 2n ** 32n - 1n }],
    ];
    it.each(cases)('%s', (issue, change, maxNumbers = 3) => {
      expect([...indicesOfWords(decodeRice(good, 32, 3))]).toEqual([5, 6, 7]);
      expect(() => decodeRice({ ...good, ...change }, 32, maxNumbers)).toThrow(issue);
    });
  });
});
