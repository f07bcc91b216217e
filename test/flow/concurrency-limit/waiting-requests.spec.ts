import { describe, expect, it } from '@jest/globals';
import { Unavailable } from '../../../src/errors.js';
import { WaitingRequests } from '../../../src/flow/concurrency-limit.js';

describe('Waiting requests', () => {
  it('are limited to 2,000 in total, or to another given number', async () => {
    for (const [requests, max] of [
      [new WaitingRequests(), 2_000],
      [new WaitingRequests(Number.POSITIVE_INFINITY), 5_000],
    ] as const) {
      let end!: () => void;
      const ended = new Promise<void>((resolve) => (end = resolve));
      const waiting = Array.from({ length: 5_000 }, (_, n) => requests.run(`o${n}`, () => ended));
      const outcomes = Promise.allSettled(waiting);
      expect(requests.size).toBe(max);
      end();
      const rejected = (await outcomes).filter(({ status }) => status === 'rejected');
      expect(rejected).toHaveLength(5_000 - max);
      for (const { reason } of rejected as PromiseRejectedResult[]) expect(reason).toBeInstanceOf(Unavailable);
      expect(requests.size).toBe(0);
    }
  });
});
