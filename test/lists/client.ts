import { createHash } from 'node:crypto';
import { type Coded, decode, type List, type Update, updated } from '../../docs/examples/local-list.js';
import { encodeRice, type RiceCoded, wordsOfHashes, wordsOfIndices } from '../../src/lists/rice.js';
import { listOf } from './random-hashes.js';

/** Returns coded numbers as responses have them. */
export const sent = ({ firstValue, encodedData, ...rest }: RiceCoded): Coded => ({
  firstValue: String(firstValue),
  ...rest,
  encodedData: Buffer.from(encodedData).toString('base64'),
});

/** Returns the numbers that a client decodes. */
export const decoded = (coded: RiceCoded): bigint[] => [...decode(sent(coded))];

const sha256Of = (hashes: Uint8Array): string => createHash('sha256').update(hashes).digest('hex');
const numbersOf = (hashes: Uint8Array): BigUint64Array => {
  const view = new DataView(hashes.buffer, hashes.byteOffset, hashes.byteLength);
  return BigUint64Array.from({ length: hashes.length / 8 }, (_, n) => view.getBigUint64(8 * n));
};

/**
 * Returns the list that a client of the docs has after an update.
 * @param after whose checksum the update has
 * @throws Error if the update does not lead to this checksum
 */
export const updateList = async (
  before: Uint8Array,
  removals: Uint32Array,
  added: Uint8Array,
  after: Uint8Array,
): Promise<Uint8Array> => {
  const version = { name: 'all-8b', version: '2-0', cutAt: '2026-03-01T12:00:00.000Z', sha256: sha256Of(after) };
  const held: List = { ...version, version: '1-0', hashes: numbersOf(before) };
  const update: Update = { ...version, partialUpdate: true };
  if (removals.length > 0) update.removals = sent(await encodeRice(wordsOfIndices(removals), 32));
  if (added.length > 0) update.additions = sent(await encodeRice(wordsOfHashes(added), 64));
  return listOf([...updated(update, 'all-8b', held).hashes]);
};
