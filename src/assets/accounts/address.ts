import { createHash } from 'node:crypto';
import { blake2b } from '@noble/hashes/blake2.js';
import { base58, base32, base64, base64url, bech32, bech32m } from '@scure/base';
import { type Address, crc16, decoded, evmAddress, ofHash, withTag } from './account.js';
import { readBase58 } from './base58-address.js';
import { readCash } from './cash-address.js';

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
/**
 * Addresses of 32 bytes, as in Sui, Aptos and Starknet, which may be written without leading zeros. Shorter texts are
 * rather addresses of 20 bytes with a digit too many.
 */
const HEX_32 = /^0x([0-9a-f]{50,64})$/i;
/** The public key of an account of NEAR, in hexadecimal or base 58. */
const NEAR = /^(?:([0-9a-f]{64})|ed25519:([1-9A-HJ-NP-Za-km-z]{40,44}))$/;
/** An address of Tron in hexadecimal: the version and a hash of 20 bytes. */
const TRON_HEX = /^(?:0x)?(41[0-9a-f]{40})$/i;
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
/** An account of Hedera, with its network and possibly its checksum (CAIP-10). */
const HEDERA = /^hedera:(mainnet|testnet|previewnet|devnet):(\d{1,10}\.\d{1,10}\.\d{1,19})(?:-[a-z]{5})?$/i;

/** For speed: no encoding has longer addresses. */
const MAX_ADDRESS_LENGTH = 160;

/**
 * @param bare an address without a chain prefix; `payment.ts` parses longer forms
 * @returns undefined if the text is not valid in any encoding (length, alphabet, checksum)
 */
export const readAddress = (bare: string): Address | undefined => {
  if (bare.length > MAX_ADDRESS_LENGTH) return undefined;
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
