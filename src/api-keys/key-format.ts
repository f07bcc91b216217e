import { randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

/**
 * A key is `tp_`, 30 random base62 characters (178 bits, so storing a plain SHA-256 is secure) and a checksum of 6
 * characters. Prefix and checksum allow secret scanners to find leaked keys, and allow the service to reject typos
 * without a lookup.
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

/** Whether a string has the format and checksum of a key. */
export const isWellFormed = (key: string): boolean =>
  FORMAT.test(key) && checksum(key.slice(0, -CHECKSUM_LENGTH)) === key.slice(-CHECKSUM_LENGTH);
