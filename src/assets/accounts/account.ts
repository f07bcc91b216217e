import { createHash } from 'node:crypto';
import { base58 } from '@scure/base';

/** A wallet address, recognized by its encoding. */
export interface Address {
  /** The encoding, which distinguishes accounts: `evm`, `bech32`, `base58check`, `ss58`, … */
  readonly encoding: string;
  /** The canonical form of the account, including the tag if there is one. */
  readonly key: string;
  /** The canonical form of the account without the tag; undefined if the address has no tag. */
  readonly keyWithoutTag?: string;
}

/** Returns the account of 20 bytes, in hexadecimal, as in Ethereum. */
export const evmAddress = (hex: string): Address => ({ encoding: 'evm', key: `0x${hex.toLowerCase()}` });

/** Returns the account of a hash in base58check. @param version in hexadecimal */
export const ofHash = (version: string, hash: Uint8Array): Address => ({
  encoding: 'base58check',
  key: withSha256d(base58, Uint8Array.of(...Buffer.from(version, 'hex'), ...hash)),
});

const MAX_XRP_TAG = 0xff_ff_ff_ff;
const MAX_MEMO_LENGTH = 64;

/**
 * Adds a destination tag (XRP), a memo (Stellar) or a payment id (Monero) to an account. It identifies a customer of a
 * shared account, such as the account of an exchange.
 * @returns the account unchanged if it already has a tag; undefined if its chain has no tags or the tag is invalid
 */
export const withTag = (account: Address, tag: string): Address | undefined => {
  const { encoding, key, keyWithoutTag } = account;
  if (keyWithoutTag !== undefined) return account;
  if (encoding === 'xrp' && /^\d{1,10}$/.test(tag) && Number(tag) <= MAX_XRP_TAG)
    return { encoding, key: `${key}?dt=${Number(tag)}`, keyWithoutTag: key };
  if (encoding === 'monero' && /^(?:[0-9a-f]{16}|[0-9a-f]{64})$/i.test(tag))
    return { encoding, key: `${key}?payment_id=${tag.toLowerCase()}`, keyWithoutTag: key };
  if (encoding === 'stellar' && key.startsWith('G') && tag !== '' && tag.length <= MAX_MEMO_LENGTH)
    return { encoding, key: `${key}?memo=${escaped(tag)}`, keyWithoutTag: key };
  return undefined;
};

/** Percent-encodes a tag, including characters that could be taken for punctuation after an address. */
const escaped = (text: string): string =>
  encodeURIComponent(text.toWellFormed()).replace(
    /[.!~*'()]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );

/** Returns the decoded bytes; undefined if the text is not valid in this encoding. */
export const decoded = (codec: { decode(text: string): Uint8Array }, text: string): Uint8Array | undefined => {
  try {
    return codec.decode(text);
  } catch {
    return undefined;
  }
};

/** The first four bytes of a double SHA-256. */
const sha256d = (bytes: Uint8Array): Buffer => {
  const once = createHash('sha256').update(bytes).digest();
  return createHash('sha256').update(once).digest().subarray(0, 4);
};

/** Encodes bytes followed by their checksum. */
export const withSha256d = (codec: { encode(bytes: Uint8Array): string }, bytes: Uint8Array): string =>
  codec.encode(Uint8Array.of(...bytes, ...sha256d(bytes)));

/** Whether bytes end in the checksum of those before. */
export const endsInSha256d = (bytes: Uint8Array): boolean => sha256d(bytes.subarray(0, -4)).equals(bytes.subarray(-4));

/** CRC-16/XMODEM, the checksum of TON and Stellar. */
export const crc16 = (bytes: Uint8Array): number => {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? ((crc << 1) ^ 0x1021) & 0xffff : (crc << 1) & 0xffff;
  }
  return crc;
};
