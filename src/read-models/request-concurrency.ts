import { Injectable } from '@nestjs/common';
import { ConcurrencyLimit, declareQueue } from '../flow/concurrency-limit.js';
import { TimeSlices } from '../flow/turns.js';

/** Timeout of a statement of a request. */
export const TIME_LIMIT_MS = 2_500;

const CONCURRENCY = declareQueue({
  name: 'requests',
  maxRunning: 2,
  maxWaiting: 32,
  waitTimeoutMs: 1_000,
  cooldownMs: 500,
});

/**
 * Limits how many queries of one organization run at the same time on the connections that all requests share (`Pool`).
 * Metrics queries and record queries have their own pools and limits.
 */
@Injectable()
export class RequestConcurrency extends ConcurrencyLimit {
  constructor(slices: TimeSlices) {
    super(CONCURRENCY, slices);
  }
}
