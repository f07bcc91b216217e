import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { base58, base58xmr, base58xrp } from '@scure/base';
import { type Address, decoded, endsInSha256d, ofHash, withSha256d, withTag } from './account.js';

/** Versions of base58check, in hexadecimal, that name the same hash as another version of the same chain. */
const SAME_VERSION: ReadonlyMap<number | undefined, string> = new Map([
  // Litecoin: script hashes, on the main and the test network.
  [0x32, '05'],
  [0x3a, 'c4'],
]);
const BASE58 = /^[1-9A-HJ-NP-Za-km-z]{25,128}$/;
/** What follows the contract in an address of Tezos. */
const TEZOS_ENTRYPOINT = /^(KT1\w{33})%\w{1,31}$/;

/** Parses an address in base 58: of Bitcoin and its forks, Tron, Tezos, Solana, Polkadot, Cardano, the XRP Ledger or Monero. */
export const readBase58 = (written: string): Address | undefined => {
  const text = written.replace(TEZOS_ENTRYPOINT, '$1');
  if (!BASE58.test(text)) return undefined;
  // Before SS58, whose checksum has two bytes: one X-address in 65,536 has a valid one.
  const ripple = /^[rTX]/.test(text) && text.length <= 48 ? readRipple(text) : undefined;
  if (ripple !== undefined) return ripple;
  const bytes = decoded(base58, text);
  if (bytes !== undefined) {
    const account = ss58Account(bytes);
    if (account !== undefined) return { encoding: 'ss58', key: account };
    // Addresses of Bitcoin and its forks, Tron and Tezos have a version of one to three bytes, a hash of 20 bytes, and
    // a checksum of four bytes.
    if (bytes.length >= 25 && bytes.length <= 27 && endsInSha256d(bytes)) {
      const version = bytes.length === 25 ? SAME_VERSION.get(bytes[0]) : undefined;
      return version === undefined ? { encoding: 'base58check', key: text } : ofHash(version, bytes.subarray(1, 21));
    }
    if (bytes.length === 32) return { encoding: 'ed25519', key: text };
    if (isByron(bytes)) return { encoding: 'byron', key: text };
  }
  return /^[48]/.test(text) && (text.length === 95 || text.length === 106) ? readMonero(text) : undefined;
};

const MONERO_STANDARD = 18;
const MONERO_INTEGRATED = 19;

/** Parses an address of Monero. An integrated address has the payment id that tells one payer from another. */
const readMonero = (text: string): Address | undefined => {
  const bytes = decoded(base58xmr, text);
  if (bytes === undefined) return undefined;
  const body = bytes.subarray(0, -4);
  if (!Buffer.from(keccak_256(body).subarray(0, 4)).equals(bytes.subarray(-4))) return undefined;
  if (bytes[0] !== MONERO_INTEGRATED) return { encoding: 'monero', key: text };
  const standard = Uint8Array.of(MONERO_STANDARD, ...body.subarray(1, 65));
  const key = base58xmr.encode(Uint8Array.of(...standard, ...keccak_256(standard).subarray(0, 4)));
  return withTag({ encoding: 'monero', key }, Buffer.from(body.subarray(65)).toString('hex'));
};

/**
 * Whether the bytes are a Cardano Byron address: a CBOR array of the tagged address and its CRC-32, both in shortest
 * encoding.
 */
const isByron = (bytes: Uint8Array): boolean => {
  if (bytes[0] !== 0x82 || bytes[1] !== 0xd8 || bytes[2] !== 0x18) return false;
  const start = bytes[3] === 0x58 ? 5 : 4;
  const length = start === 5 ? bytes[4]! : bytes[3]! - 0x40;
  if (length < (start === 5 ? 24 : 0) || length >= (start === 5 ? 256 : 24)) return false;
  const end = start + length;
  if (end >= bytes.length) return false;
  return Buffer.from(unsignedCbor(crc32(bytes.subarray(start, end)))).equals(bytes.subarray(end));
};

const unsignedCbor = (value: number): number[] => {
  if (value < 24) return [value];
  if (value < 0x100) return [0x18, value];
  if (value < 0x1_0000) return [0x19, value >>> 8, value & 0xff];
  return [0x1a, value >>> 24, (value >>> 16) & 0xff, (value >>> 8) & 0xff, value & 0xff];
};

const X_ADDRESS_PREFIXES: ReadonlySet<number> = new Set([0x05_44, 0x04_93]);

/** Parses a classic address of the XRP Ledger, or an X-address, which includes the network and possibly a tag. */
const readRipple = (text: string): Address | undefined => {
  const bytes = decoded(base58xrp, text);
  if (bytes === undefined || !endsInSha256d(bytes)) return undefined;
  if (bytes.length === 25 && bytes[0] === 0) return { encoding: 'xrp', key: text };
  if (bytes.length !== 35 || !X_ADDRESS_PREFIXES.has(bytes[0]! * 256 + bytes[1]!)) return undefined;
  const [flag, ...tag] = bytes.subarray(22, 31);
  // The last four bytes are reserved for longer tags.
  if (flag! > 1 || tag.some((byte, index) => byte !== 0 && (flag === 0 || index > 3))) return undefined;
  const body = Uint8Array.of(0, ...bytes.subarray(2, 22));
  const account: Address = { encoding: 'xrp', key: withSha256d(base58xrp, body) };
  return flag === 1 ? withTag(account, String(Buffer.from(tag).readUInt32LE())) : account;
};

const SS58_PREFIX = new TextEncoder().encode('SS58PRE');

/** Returns the public key of an SS58 address (Polkadot) in hex, for any network prefix. */
const ss58Account = (bytes: Uint8Array): string | undefined => {
  if (bytes.length !== 35 && bytes.length !== 36) return undefined;
  const prefix = bytes[0]! & 0b0100_0000 ? 2 : 1;
  if (bytes.length !== prefix + 32 + 2 || bytes[0]! > 127) return undefined;
  const body = bytes.subarray(0, -2);
  const sum = createHash('blake2b512').update(SS58_PREFIX).update(body).digest();
  if (sum[0] !== bytes.at(-2) || sum[1] !== bytes.at(-1)) return undefined;
  return `0x${Buffer.from(body.subarray(prefix)).toString('hex')}`;
};
