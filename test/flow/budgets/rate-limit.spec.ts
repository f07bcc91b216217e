import { describe, expect, it } from '@jest/globals';
import { RateLimit } from '../../../src/flow/budgets.js';

describe('The rate limit', () => {
  it('counts down, reports when it is exceeded, and starts over with the next minute', () => {
    let now = 1_000_000;
    const limit = new RateLimit(2, () => now);
    expect(limit.take('a')).toEqual({ limit: 2, remaining: 1, resetSeconds: 60, exceeded: false });
    now += 30_001;
    expect(limit.take('a')).toEqual({ limit: 2, remaining: 0, resetSeconds: 30, exceeded: false });
    expect(limit.take('a')).toMatchObject({ remaining: 0, exceeded: true });
    expect(limit.take('b')).toMatchObject({ remaining: 1, exceeded: false });
    now += 29_999;
    expect(limit.take('a')).toEqual({ limit: 2, remaining: 1, resetSeconds: 60, exceeded: false });
  });

  it('does not limit requests if it is 0', () => {
    expect(new RateLimit(0).take('a')).toBeUndefined();
  });
});
