import { createHash } from 'node:crypto';

/**
 * The version must be incremented if the key of any valid content changes. Read models that store keys are then
 * rebuilt. `test/assets/pinned-keys.json` has keys of this version. Stored events carry their keys: without a new version,
 * a rebuild keeps the keys that the events were stored with.
 */
export const KEY_VERSION = 5;

export const urlKey = (host: string): string => `URL:${host}`;
export const addressKey = (key: string): string => `ADDRESS:${key}`;

/** Returns the first 128 bits of the SHA-256 of a key, in hex. */
export const hashOfKey = (key: string): string => createHash('sha256').update(key).digest('hex').slice(0, 32);
