import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { blake2b } from '@noble/hashes/blake2.js';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { base58, base58xmr, base58xrp, base32, base64, base64url, bech32, bech32m } from '@scure/base';

/** A wallet address, recognized by its encoding. */
export interface Address {
  /** The encoding, which distinguishes accounts: `evm`, `bech32`, `base58check`, `ss58`, … */
  readonly encoding: string;
  /** The canonical form of the account, including the tag if there is one. */
  readonly key: string;
  /** The canonical form of the account without the tag; undefined if the address has no tag. */
  readonly keyWithoutTag?: string;
}

/** Addresses of 20 bytes, as in Ethereum. XDC and Ronin write other letters before the digits. */
const EVM = /^(?:0x|xdc|ronin:(?:0x)?)([0-9a-f]{40})$/i;
/**
 * Prefixes of bech32 addresses that encode the 20 bytes of an address in another encoding: of Ethereum, or of
 * base58check with this version.
 */
const BECH32_OF_HASH: ReadonlyMap<string, 'evm' | `${number}${string}`> = new Map([
  ...(['one', 'io', 'ex', 'inj', 'evmos', 'canto', 'zil', 'haqq', 'zeta', 'dym', 'uptick'] as const).map(
    (prefix) => [prefix, 'evm'] as const,
  ),
  // Zcash: addresses that are paid from transparent addresses only (ZIP-320).
  ['tex', '1cb8'],
  ['textest', '1d25'],
]);
/** Versions of base58check, in hexadecimal, that name the same hash as another version of the same chain. */
const SAME_VERSION: ReadonlyMap<number | undefined, string> = new Map([
  // Litecoin: script hashes, on the main and the test network.
  [0x32, '05'],
  [0x3a, 'c4'],
]);
/**
 * Addresses of 32 bytes, as in Sui, Aptos and Starknet, which may be written without leading zeros. Shorter texts are
 * rather addresses of 20 bytes with a digit too many.
 */
const HEX_32 = /^0x([0-9a-f]{50,64})$/i;
/** The public key of an account of NEAR, in hexadecimal or base 58. */
const NEAR = /^(?:([0-9a-f]{64})|ed25519:([1-9A-HJ-NP-Za-km-z]{40,44}))$/;
/** An address of Tron in hexadecimal: the version and a hash of 20 bytes. */
const TRON_HEX = /^(?:0x)?(41[0-9a-f]{40})$/i;
const BASE58 = /^[1-9A-HJ-NP-Za-km-z]{25,128}$/;
const BECH32 = /^[a-z]{1,16}1[02-9ac-hj-np-z]{11,120}$/i;
/** The chain of an address of Avalanche. */
const AVALANCHE_CHAIN = /^[XPC]-(?=(?:avax|fuji|local|custom)1)/i;
const TON_FRIENDLY = /^[A-Za-z0-9+/_-]{48}$/;
const TON_RAW = /^(-1|0):([0-9a-f]{64})$/i;
const BASE32_56 = /^[GC][A-Z2-7]{55}$/;
/** A muxed Stellar account: an account with a customer number (SEP-23). */
const BASE32_69 = /^M[A-Z2-7]{68}$/;
const BASE32_58 = /^[A-Z2-7]{58}$/;
/** An address of Filecoin: its protocol, for protocol 4 the namespace, and the payload with a checksum. */
const FILECOIN = /^[ft]([1-3]|4(\d{1,9})f)([a-z2-7]{28,85})$/;
/** The namespace of Filecoin's addresses that are addresses of Ethereum. */
const FILECOIN_EVM = '10';
/** Length of Filecoin's payloads by their protocol. */
const FILECOIN_BYTES: Readonly<Record<string, number>> = { 1: 20, 2: 20, 3: 48, 4: 20 };
/** The spelling of an address of Ethereum as an account number of a bank (ICAP): two check digits, and base 36. */
const ICAP = /^XE(\d{2})([0-9A-Z]{30,31})$/i;
/** What follows the contract in an address of Tezos. */
const TEZOS_ENTRYPOINT = /(?<=^KT1\w{33})%\w{1,31}$/;
/** An account of Hedera, with its network and possibly its checksum (CAIP-10). */
const HEDERA = /^hedera:(mainnet|testnet|previewnet|devnet):(\d{1,10}\.\d{1,10}\.\d{1,19})(?:-[a-z]{5})?$/i;

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

/**
 * @param bare an address without a chain prefix; `payment.ts` parses longer forms
 * @returns undefined if the text is not valid in any encoding (length, alphabet, checksum)
 */
export const readAddress = (bare: string): Address | undefined => {
  const [, evm] = EVM.exec(bare) ?? [];
  if (evm !== undefined) return evmAddress(evm);
  const [, tron] = TRON_HEX.exec(bare) ?? [];
  if (tron !== undefined) return ofHash(tron.slice(0, 2), Buffer.from(tron.slice(2), 'hex'));
  const [, hex] = HEX_32.exec(bare) ?? [];
  if (hex !== undefined) return { encoding: 'hex', key: `0x${hex.toLowerCase().padStart(64, '0')}` };
  for (const read of READERS) {
    const found = read(bare);
    if (found !== undefined) return found;
  }
  return undefined;
};

const evmAddress = (hex: string): Address => ({ encoding: 'evm', key: `0x${hex.toLowerCase()}` });

/** Returns the account of a hash in base58check. @param version in hexadecimal */
const ofHash = (version: string, hash: Uint8Array): Address => ({
  encoding: 'base58check',
  key: withSha256d(base58, Uint8Array.of(...Buffer.from(version, 'hex'), ...hash)),
});

const readBech32 = (prefixed: string): Address | undefined => {
  const text = prefixed.replace(AVALANCHE_CHAIN, '');
  if (!BECH32.test(text)) return undefined;
  const lower = text.toLowerCase();
  if (text !== lower && text !== text.toUpperCase()) return undefined;
  const word = lower as `${string}1${string}`;
  const found = bech32.decodeUnsafe(word, false) ?? bech32m.decodeUnsafe(word, false);
  if (found === undefined) return undefined;
  const other = BECH32_OF_HASH.get(found.prefix);
  const bytes = other && bech32.fromWordsUnsafe(found.words);
  if (other === undefined || bytes?.length !== 20) return { encoding: 'bech32', key: lower };
  return other === 'evm' ? evmAddress(Buffer.from(bytes).toString('hex')) : ofHash(other, bytes);
};

const readFilecoin = (text: string): Address | undefined => {
  const [, protocol = '', namespace = '', encoded = ''] = FILECOIN.exec(text) ?? [];
  const bytes = protocol === '' ? undefined : base32Bytes(encoded);
  if (bytes?.length !== FILECOIN_BYTES[protocol[0]!]! + 4) return undefined;
  const payload = bytes.subarray(0, -4);
  const checked = Uint8Array.of(
    Number(protocol[0]),
    ...(namespace === '' ? [] : leb128(Number(namespace))),
    ...payload,
  );
  if (!Buffer.from(blake2b(checked, { dkLen: 4 })).equals(bytes.subarray(-4))) return undefined;
  // An address of the test network differs in the first letter only.
  if (namespace !== FILECOIN_EVM) return { encoding: 'filecoin', key: `f${text.slice(1)}` };
  return evmAddress(Buffer.from(payload).toString('hex'));
};

const leb128 = (value: number): number[] => (value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...leb128(value >>> 7)]);

const base32Bytes = (text: string): Uint8Array | undefined =>
  decoded(base32, text.toUpperCase().padEnd(Math.ceil(text.length / 8) * 8, '='));

const BASE_36 = /[A-Z]/g;

const readIcap = (text: string): Address | undefined => {
  const [, check, account] = ICAP.exec(text.toUpperCase()) ?? [];
  if (check === undefined || account === undefined) return undefined;
  const digits = `${account}XE${check}`.replace(BASE_36, (letter) => String(letter.charCodeAt(0) - 55));
  if (BigInt(digits) % 97n !== 1n) return undefined;
  const value = [...account].reduce((sum, digit) => sum * 36n + BigInt(Number.parseInt(digit, 36)), 0n);
  const hex = value.toString(16).padStart(40, '0');
  return hex.length === 40 ? evmAddress(hex) : undefined;
};

const readHedera = (text: string): Address | undefined => {
  const [, network, number] = HEDERA.exec(text) ?? [];
  return number === undefined ? undefined : { encoding: 'hedera', key: `hedera:${network!.toLowerCase()}:${number}` };
};

const readNear = (text: string): Address | undefined => {
  const [, hex, key = ''] = NEAR.exec(text) ?? [];
  const bytes = hex === undefined ? decoded(base58, key) : Buffer.from(hex, 'hex');
  return bytes?.length === 32 ? { encoding: 'hex', key: `0x${Buffer.from(bytes).toString('hex')}` } : undefined;
};

const readCash = (text: string): Address | undefined => {
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

const readBase58 = (written: string): Address | undefined => {
  const text = written.replace(TEZOS_ENTRYPOINT, '');
  if (!BASE58.test(text)) return undefined;
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
  const ripple = /^[rTX]/.test(text) && text.length <= 48 ? readRipple(text) : undefined;
  if (ripple !== undefined) return ripple;
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

const MAX_XRP_TAG = 0xff_ff_ff_ff;
const MAX_MEMO_LENGTH = 64;

/**
 * Adds a destination tag (XRP), a memo (Stellar) or a payment id (Monero) to an account. The tag or memo identifies a customer of a shared
 * account, such as the account of an exchange.
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

const readTon = (text: string): Address | undefined => {
  const raw = TON_RAW.exec(text);
  if (raw) return { encoding: 'ton', key: `${raw[1]}:${raw[2]!.toLowerCase()}` };
  if (text.length !== 48 || !TON_FRIENDLY.test(text)) return undefined;
  const bytes = decoded(/[+/]/.test(text) ? base64 : base64url, text);
  if (bytes?.length !== 36) return undefined;
  const tag = bytes[0]! & 0x7f;
  if ((tag !== 0x11 && tag !== 0x51) || crc16(bytes.subarray(0, 34)) !== bytes[34]! * 256 + bytes[35]!)
    return undefined;
  const workchain = bytes[1] === 0xff ? -1 : bytes[1]!;
  return { encoding: 'ton', key: `${workchain}:${Buffer.from(bytes.subarray(2, 34)).toString('hex')}` };
};

const readBase32 = (text: string): Address | undefined => {
  if (BASE32_56.test(text)) {
    const bytes = decoded(base32, text);
    if (bytes?.length === 35 && crc16(bytes.subarray(0, 33)) === bytes[33]! + bytes[34]! * 256)
      return { encoding: 'stellar', key: text };
  }
  if (BASE32_69.test(text)) {
    const bytes = base32Bytes(text);
    if (bytes?.length !== 43 || bytes[0] !== 0x60 || crc16(bytes.subarray(0, 41)) !== bytes[41]! + bytes[42]! * 256)
      return undefined;
    const body = Uint8Array.of(0x30, ...bytes.subarray(1, 33));
    const sum = crc16(body);
    const account = base32.encode(Uint8Array.of(...body, sum & 0xff, sum >>> 8));
    return withTag({ encoding: 'stellar', key: account }, String(Buffer.from(bytes).readBigUInt64BE(33)));
  }
  if (BASE32_58.test(text)) {
    const bytes = base32Bytes(text);
    const sum = bytes && createHash('sha512-256').update(bytes.subarray(0, 32)).digest().subarray(-4);
    if (bytes?.length === 36 && sum?.equals(bytes.subarray(32))) return { encoding: 'algorand', key: text };
  }
  return undefined;
};

const decoded = (codec: { decode(text: string): Uint8Array }, text: string): Uint8Array | undefined => {
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
const withSha256d = (codec: { encode(bytes: Uint8Array): string }, bytes: Uint8Array): string =>
  codec.encode(Uint8Array.of(...bytes, ...sha256d(bytes)));

const endsInSha256d = (bytes: Uint8Array): boolean => sha256d(bytes.subarray(0, -4)).equals(bytes.subarray(-4));

/** CRC-16/XMODEM, the checksum of TON and Stellar. */
const crc16 = (bytes: Uint8Array): number => {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? ((crc << 1) ^ 0x1021) & 0xffff : (crc << 1) & 0xffff;
  }
  return crc;
};

/** The encodings that are no plain digits. Each of them excludes the ones after it by a prefix or a checksum. */
const READERS = [
  readNear,
  readTon,
  readBech32,
  readCash,
  readBase58,
  readBase32,
  readFilecoin,
  readIcap,
  readHedera,
] as const;
