import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { EndOfLog } from '../../../src/event-log/eventstoredb/catch-up-subscription.js';

describe('The instant up to which every event has been delivered', () => {
  let end: EndOfLog;
  beforeEach(() => {
    jest.useFakeTimers();
    end = new EndOfLog(0n);
  });
  afterEach(() => void jest.useRealTimers());

  /** Observes the end of the log; every event up to that end has been delivered. */
  const observe = (
    connections: number,
    tookMs = 1,
  ): { readonly requestedAt: number; readonly asOf: number | undefined } => {
    const request = { at: Date.now(), now: performance.now(), connections };
    jest.advanceTimersByTime(tookMs);
    end.observe(7n, request);
    return { requestedAt: request.at, asOf: end.deliveredUntil(7n) };
  };

  it('is the time of the request for the end of the log, once everything up to that end has been delivered', () => {
    const request = { at: Date.now(), now: performance.now(), connections: 1 };
    end.observe(7n, request);
    expect(end.deliveredUntil(6n)).toBeUndefined();
    expect(end.deliveredUntil(7n)).toBe(request.at);
  });

  for (const [what, connections, pauseMs] of [
    ['another node', 2, 100],
    ['a node that was silent', 1, 2_500],
  ] as const)
    it(`does not advance until ${what} has led for 5 s, because a node that was frozen may wrongly believe it is the leader`, () => {
      const { asOf } = observe(1);
      jest.advanceTimersByTime(pauseMs);
      for (let waited = 0; waited < 4_900; waited += 700) {
        expect(observe(connections).asOf).toBe(asOf);
        jest.advanceTimersByTime(699);
      }
      jest.advanceTimersByTime(700);
      const later = observe(connections);
      expect(later.asOf).toBe(later.requestedAt);
    });
});
