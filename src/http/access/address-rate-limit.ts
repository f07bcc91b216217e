import { TooManyRequests } from '../../errors.js';
import type { FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { clientOf } from './client-address.js';
import type { ApiKeyVerifier } from './api-key-verifier.js';
import { RateLimit } from '../../flow/rate-limit.js';

/** Addresses remembered; beyond, the least recently seen is dropped. About 4 MB. */
const MAX_ADDRESSES = 20_000;

const MESSAGE =
  'Too many requests from this address without a valid key; retry after the number of seconds in Retry-After';

/**
 * Limits requests without a valid key by client address. Requests with one are limited by the key alone, so that nobody
 * behind the same address can get them rejected.
 */
export class AddressRateLimit {
  private readonly limit: RateLimit;

  /** @param perMinute requests per minute and IPv4 address or IPv6 /64 network; 0 means no limit */
  constructor(
    perMinute: number,
    private readonly keys: ApiKeyVerifier,
  ) {
    this.limit = new RateLimit(perMinute, Date.now, new LRUCache<string, number>({ max: MAX_ADDRESSES }));
  }

  /** Counts a request without a valid key; returns the rejection if there have been too many. */
  take(request: FastifyRequest): TooManyRequests | undefined {
    const allowance = this.limit.take(clientOf(request.ip));
    return allowance?.exceeded ? new TooManyRequests(allowance.resetSeconds, MESSAGE) : undefined;
  }

  /** The same on a route that requires no key: a request with a valid one is not counted. */
  takeUnlessKeyed(request: FastifyRequest): TooManyRequests | undefined {
    return this.hasGoodKey(request) ? undefined : this.take(request);
  }

  private hasGoodKey({ headers }: FastifyRequest): boolean {
    const key = headers['x-api-key'];
    try {
      return typeof key === 'string' && this.keys.verify(key) !== undefined;
    } catch {
      // The keys have not been read yet.
      return false;
    }
  }
}
