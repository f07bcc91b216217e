import { hash } from 'node:crypto';
import { Invalid, Unprocessable } from '../../errors.js';
import { IDEMPOTENCY_TTL_MS, type IdempotentRequest } from '../../events/idempotent-request.js';

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

/**
 * Finds the first response to a request with the same `Idempotency-Key`.
 * @param earlier what requests with this key led to
 * @param answeredAt returns the instant of the response, in ms
 * @returns undefined for a request that is not repeated; an error if the first request had another body
 */
export const firstResponse = <First extends { readonly bodyHash?: string | undefined }>(
  request: IdempotentRequest | undefined,
  earlier: readonly (First | undefined)[],
  answeredAt: (first: First) => number,
  now: number,
): First | Unprocessable | undefined => {
  if (request === undefined) return undefined;
  const first = earlier.find((one) => one !== undefined && now - answeredAt(one) < IDEMPOTENCY_TTL_MS);
  return first === undefined || first.bodyHash === request.bodyHash
    ? first
    : new Unprocessable('This Idempotency-Key was used with another body');
};
