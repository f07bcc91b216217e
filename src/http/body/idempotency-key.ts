import { hash } from 'node:crypto';
import { Invalid } from '../../errors.js';
import type { IdempotentRequest } from '../../events/types/asset-groups.js';

const PRINTABLE = /^[\x20-\x7e]{1,255}$/;

/**
 * Returns what identifies a request that the client may repeat.
 * @param key the header `Idempotency-Key`; undefined if the client sent no key
 * @param body the parsed content of the body, so that whitespace, unknown fields and the order of fields are ignored
 * @returns undefined without a key
 * @throws Invalid if the key is not 1 to 255 printable characters
 */
export const idempotentRequest = (key: string | undefined, body: string): IdempotentRequest | undefined => {
  if (key === undefined) return undefined;
  if (!PRINTABLE.test(key)) throw new Invalid('Idempotency-Key must be 1 to 255 printable characters');
  return { idempotencyKeyHash: hash('sha256', key), bodyHash: hash('sha256', body) };
};
