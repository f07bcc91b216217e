import { randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

/**
 * `tp_` + 30 random characters + a checksum of 6, base62. 30 characters are 178 random bits, so storing a plain SHA-256
 * is enough; prefix and checksum let scanners find leaked keys, and let the service reject typos without a lookup.
 */
const PREFIX = 'tp_';
const RANDOM_LENGTH = 30;
const CHECKSUM_LENGTH = 6;
const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const FORMAT = /^tp_[0-9A-Za-z]{36}$/;

const checksum = (text: string): string => {
  let rest = crc32(text);
  let digits = '';
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    digits = DIGITS[rest % 62]! + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
};

export const createKey = (): string => {
  const random = Array.from({ length: RANDOM_LENGTH }, () => DIGITS[randomInt(62)]).join('');
  return PREFIX + random + checksum(PREFIX + random);
};

/** Whether a string can be a key at all; if not, no lookup is needed. */
export const isWellFormed = (key: string): boolean =>
  FORMAT.test(key) && checksum(key.slice(0, -CHECKSUM_LENGTH)) === key.slice(-CHECKSUM_LENGTH);
