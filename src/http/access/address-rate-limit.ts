import { TooManyRequests } from '../../errors.js';
import type { FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { clientOf } from './client-address.js';
import type { ApiKeyVerifier } from './api-key-verifier.js';
import { RateLimit } from '../../flow/rate-limit.js';

/** The most addresses in memory, about 4 MB. Beyond that, the least recently seen address is dropped. */
const MAX_ADDRESSES = 20_000;

const MESSAGE =
  'Too many requests from this address without a valid key; retry after the number of seconds in Retry-After';

/**
 * Limits requests without a valid key by client address. Requests with a valid key are limited by the key only, so that
 * other clients with the same address cannot get them rejected.
 */
export class AddressRateLimit {
  private readonly limit: RateLimit;

  /** @param perMinute requests per minute for each IPv4 address or IPv6 /64 network; 0 means no limit */
  constructor(
    perMinute: number,
    private readonly keys: ApiKeyVerifier,
  ) {
    this.limit = new RateLimit(perMinute, undefined, new LRUCache<string, number>({ max: MAX_ADDRESSES }));
  }

  /** Counts a request without a valid key. Returns an error if the address has sent too many requests. */
  take(request: FastifyRequest): TooManyRequests | undefined {
    const allowance = this.limit.take(clientOf(request.ip));
    return allowance?.exceeded ? new TooManyRequests(allowance.resetSeconds, MESSAGE) : undefined;
  }

  /** Counts a request as `take` does, for routes that require no key: requests with a valid key are not counted. */
  takeWithoutKey(request: FastifyRequest): TooManyRequests | undefined {
    return this.hasValidKey(request) ? undefined : this.take(request);
  }

  private hasValidKey({ headers }: FastifyRequest): boolean {
    const key = headers['x-api-key'];
    try {
      return typeof key === 'string' && this.keys.verify(key) !== undefined;
    } catch {
      // The keys have not been read yet.
      return false;
    }
  }
}
