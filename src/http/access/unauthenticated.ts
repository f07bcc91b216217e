import type { FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { TooManyRequests } from '../errors/error-response.js';
import { clientOf } from './client-address.js';
import type { ApiKeyVerifier } from './api-key-verifier.js';
import { RateLimit } from './rate-limit.js';

/** Addresses remembered at once; the one not heard of for longest is forgotten first. About 4 MB. */
const MAX_ADDRESSES = 20_000;

const MESSAGE = 'Too many requests from this address without a good key; Retry-After says when to try again';

/**
 * Limits requests without a good key by the address they come from. Those with one are limited by the key alone, so
 * that nobody behind the same address can have them refused.
 */
export class Unauthenticated {
  private readonly limit: RateLimit;

  /** @param perMinute requests per IPv4 address, or IPv6 network of 64 bits, and minute; 0 means no limit */
  constructor(
    perMinute: number,
    private readonly keys: ApiKeyVerifier,
  ) {
    this.limit = new RateLimit(perMinute, Date.now, new LRUCache<string, number>({ max: MAX_ADDRESSES }));
  }

  /** Counts a request that has shown no good key; the refusal where there have been too many. */
  take(request: FastifyRequest): TooManyRequests | undefined {
    const allowance = this.limit.take(clientOf(request.ip));
    return allowance?.exceeded ? new TooManyRequests(allowance.resetSeconds, MESSAGE) : undefined;
  }

  /** The same where no key is asked for: one that is good is not counted. */
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
