import { base58, bech32 } from '@scure/base';
import { type Address, decoded, endsInSha256d } from './account.js';

const CASH_CHAINS = '(bitcoincash|bchtest|bchreg|ecash|ectest|kaspa|kaspatest)';
/** Schemes that are part of the address, because its checksum includes them. */
export const IS_PART_OF_ADDRESS = new RegExp(`^${CASH_CHAINS}$`, 'i');
/** Addresses of Bitcoin Cash and chains with its encoding. The chain may be omitted for Bitcoin Cash. */
const CASH = new RegExp(`^(?:${CASH_CHAINS}:)?([02-9ac-hj-np-z]{42,104})$`, 'i');
/** The same hash in the encoding of Bitcoin, after the name of the chain. */
const LEGACY_CASH = new RegExp(`^${CASH_CHAINS}:([1-9A-HJ-NP-Za-km-z]{26,35})$`, 'i');
const LEGACY_CASH_TYPES: ReadonlyMap<number | undefined, number> = new Map([
  [0x00, 0],
  [0x05, 1],
  [0x6f, 0],
  [0xc4, 1],
]);
/** Types of addresses for tokens (CashTokens) begin here; each names the same hash as the type this much below. */
const TOKEN_TYPES = 2;
const CASH_ALPHABET = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l';
const CASH_GENERATORS = [0x98f2bc8e61n, 0x79b76d99e2n, 0xf33e5fb3c4n, 0xae2eabe2a8n, 0x1e4f43e470n];

/** Parses an address in CashAddr, the encoding of Bitcoin Cash, eCash and Kaspa. */
export const readCash = (text: string): Address | undefined => {
  const [, named = '', legacy] = LEGACY_CASH.exec(text) ?? [];
  const bytes = legacy === undefined ? undefined : decoded(base58, legacy);
  const type = bytes?.length === 25 && endsInSha256d(bytes) ? LEGACY_CASH_TYPES.get(bytes[0]) : undefined;
  if (type !== undefined) return cashAddress(named.toLowerCase(), type, bytes!.subarray(1, 21));
  const [, written = 'bitcoincash', payload = ''] = CASH.exec(text) ?? [];
  if (payload === '' || (payload !== payload.toLowerCase() && payload !== payload.toUpperCase())) return undefined;
  const chain = written.toLowerCase();
  const words = [...payload.toLowerCase()].map((letter) => CASH_ALPHABET.indexOf(letter));
  const [version, ...hash] = bech32.fromWordsUnsafe(words.slice(0, -8)) ?? [];
  if (version === undefined || cashChecksum(chain, words) !== 0n) return undefined;
  const key = `${chain}:${payload.toLowerCase()}`;
  // A type of Kaspa, and a type that is not known, is kept as it is.
  const kind = version >>> 3;
  return hash.length !== 20 || kind < TOKEN_TYPES || kind >= 2 * TOKEN_TYPES
    ? { encoding: 'cashaddr', key }
    : cashAddress(chain, kind - TOKEN_TYPES, Uint8Array.from(hash));
};

const cashAddress = (chain: string, type: number, hash: Uint8Array): Address => {
  const words = bech32.toWords(Uint8Array.of(type << 3, ...hash));
  const sum = cashChecksum(chain, [...words, ...new Uint8Array(8)]);
  for (let at = 7; at >= 0; at--) words.push(Number((sum >> BigInt(5 * at)) & 31n));
  return { encoding: 'cashaddr', key: `${chain}:${words.map((word) => CASH_ALPHABET[word]).join('')}` };
};

/** Computes the BCH checksum of CashAddr, which is 0 if the address is valid. */
const cashChecksum = (chain: string, words: readonly number[]): bigint => {
  let sum = 1n;
  for (const value of [...[...chain].map((letter) => letter.charCodeAt(0) & 31), 0, ...words]) {
    const top = sum >> 35n;
    sum = ((sum & 0x07ffffffffn) << 5n) ^ BigInt(value);
    CASH_GENERATORS.forEach((generator, bit) => {
      if ((top >> BigInt(bit)) & 1n) sum ^= generator;
    });
  }
  return sum ^ 1n;
};
