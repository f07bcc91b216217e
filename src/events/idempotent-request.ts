/**
 * SHA-256 hashes (hex) of `Idempotency-Key` and request body, stored in the metadata of the event that the request
 * caused.
 */
export interface IdempotentRequest {
  readonly idempotencyKeyHash: string;
  readonly bodyHash: string;
}

/** How long the first response to an `Idempotency-Key` is repeated. ms */
export const IDEMPOTENCY_TTL_MS = 24 * 60 * 60 * 1000;

const SHA_256 = /^[0-9a-f]{64}$/;

/** Reads an `IdempotentRequest` from the metadata of an event; undefined if the client sent no key. */
export const idempotentRequestOf = (metadata: unknown): IdempotentRequest | undefined => {
  const { idempotencyKeyHash, bodyHash } = (metadata ?? {}) as Record<string, unknown>;
  return typeof idempotencyKeyHash === 'string' &&
    typeof bodyHash === 'string' &&
    SHA_256.test(idempotencyKeyHash) &&
    SHA_256.test(bodyHash)
    ? { idempotencyKeyHash, bodyHash }
    : undefined;
};
