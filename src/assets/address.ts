import { createHash } from 'node:crypto';
import { base58, base58xmr, base58xrp, base32, base64, base64url, bech32, bech32m } from '@scure/base';

/** A wallet address, recognised by its own encoding. */
export interface Address {
  /** The encoding, which distinguishes accounts: `evm`, `bech32`, `base58check`, `ss58`, … */
  readonly encoding: string;
  /** The account's canonical form. */
  readonly key: string;
}

const EVM = /^0x[0-9a-f]{40}$/i;
/** Sui, Aptos, Starknet and others: 32 bytes. */
const HEX_32 = /^0x[0-9a-f]{64}$/i;
const BASE58 = /^[1-9A-HJ-NP-Za-km-z]{25,106}$/;
const BECH32 = /^[a-z]{1,16}1[02-9ac-hj-np-z]{12,120}$/i;
const TON_FRIENDLY = /^[A-Za-z0-9+/_-]{48}$/;
const TON_RAW = /^(-1|0):([0-9a-f]{64})$/i;
const BASE32_56 = /^G[A-Z2-7]{55}$/;
const BASE32_58 = /^[A-Z2-7]{58}$/;

/** Bitcoin Cash and eCash; the former may omit the name of the chain. */
const CASH = /^(?:(bitcoincash|ecash):)?([qp][02-9ac-hj-np-z]{41})$/i;
const CASH_ALPHABET = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l';
const CASH_GENERATORS = [0x98f2bc8e61n, 0x79b76d99e2n, 0xf33e5fb3c4n, 0xae2eabe2a8n, 0x1e4f43e470n];

/**
 * @param bare without a chain before it; `account.ts` reads longer forms
 * @returns undefined if the text is not valid in any encoding (length, alphabet, checksum)
 */
export const readAddress = (bare: string): Address | undefined => {
  if (EVM.test(bare)) return { encoding: 'evm', key: bare.toLowerCase() };
  if (HEX_32.test(bare)) return { encoding: 'hex', key: bare.toLowerCase() };
  return readTon(bare) ?? readBech32(bare) ?? readCash(bare) ?? readBase58(bare) ?? readBase32(bare);
};

const readBech32 = (text: string): Address | undefined => {
  if (!BECH32.test(text)) return undefined;
  const lower = text.toLowerCase();
  if (text !== lower && text !== text.toUpperCase()) return undefined;
  const word = lower as `${string}1${string}`;
  if (bech32.decodeUnsafe(word, false) === undefined && bech32m.decodeUnsafe(word, false) === undefined)
    return undefined;
  return { encoding: 'bech32', key: lower };
};

const readCash = (text: string): Address | undefined => {
  const [, chain = 'bitcoincash', payload] = CASH.exec(text) ?? [];
  if (payload === undefined || (payload !== payload.toLowerCase() && payload !== payload.toUpperCase()))
    return undefined;
  const lower = { chain: chain.toLowerCase(), payload: payload.toLowerCase() };
  const values = [...lower.chain].map((letter) => letter.charCodeAt(0) & 31);
  values.push(0, ...[...lower.payload].map((letter) => CASH_ALPHABET.indexOf(letter)));
  return cashChecksum(values) === 0n ? { encoding: 'cashaddr', key: `${lower.chain}:${lower.payload}` } : undefined;
};

/** The BCH checksum of CashAddr; 0 if valid. */
const cashChecksum = (values: readonly number[]): bigint => {
  let sum = 1n;
  for (const value of values) {
    const top = sum >> 35n;
    sum = ((sum & 0x07ffffffffn) << 5n) ^ BigInt(value);
    CASH_GENERATORS.forEach((generator, bit) => {
      if ((top >> BigInt(bit)) & 1n) sum ^= generator;
    });
  }
  return sum ^ 1n;
};

const readBase58 = (text: string): Address | undefined => {
  if (!BASE58.test(text)) return undefined;
  const bytes = decoded(base58, text);
  if (bytes !== undefined) {
    const account = ss58Account(bytes);
    if (account !== undefined) return { encoding: 'ss58', key: account };
    // Bitcoin and its forks, Tron, Tezos: a version of one to three bytes, 20 bytes of hash, four of checksum.
    if (bytes.length >= 25 && bytes.length <= 27 && endsInSha256d(bytes)) return { encoding: 'base58check', key: text };
    if (bytes.length === 32) return { encoding: 'ed25519', key: text };
  }
  if (text.startsWith('r') && text.length <= 35) {
    const ripple = decoded(base58xrp, text);
    if (ripple?.length === 25 && endsInSha256d(ripple)) return { encoding: 'xrp', key: text };
  }
  if ((text.length === 95 || text.length === 106) && /^[48]/.test(text) && decoded(base58xmr, text) !== undefined)
    return { encoding: 'monero', key: text };
  return undefined;
};

const SS58_PREFIX = new TextEncoder().encode('SS58PRE');

/** The public key in hex of an SS58 address (Polkadot), for any network prefix. */
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
  if (BASE32_58.test(text)) {
    const bytes = decoded(base32, `${text}======`);
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

const endsInSha256d = (bytes: Uint8Array): boolean => {
  const once = createHash('sha256').update(bytes.subarray(0, -4)).digest();
  return createHash('sha256').update(once).digest().subarray(0, 4).equals(bytes.subarray(-4));
};

/** CRC-16/XMODEM, the checksum of TON and Stellar. */
const crc16 = (bytes: Uint8Array): number => {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? ((crc << 1) ^ 0x1021) & 0xffff : (crc << 1) & 0xffff;
  }
  return crc;
};
