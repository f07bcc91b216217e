import { randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

/**
 * `tp_` + 30 random characters + 6 of checksum, base62. 30 characters are 178 random bits, so a plain SHA-256 is
 * enough to store; the prefix and the checksum let scanners find leaked keys, and us refuse typing errors unasked.
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

/** Whether a text can be a key at all; no lookup is needed where not. */
export const isWellFormed = (key: string): boolean =>
  FORMAT.test(key) && checksum(key.slice(0, -CHECKSUM_LENGTH)) === key.slice(-CHECKSUM_LENGTH);
