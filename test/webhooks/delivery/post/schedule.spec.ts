import { describe, expect, it } from '@jest/globals';
import type { StoredProgress } from '../../../../src/webhooks/progress-sql.js';
import type { EndpointResponse } from '../../../../src/webhooks/delivery/send.js';
import { outcomeOf, type Outcome, delayAfter, retryAfterOf } from '../../../../src/webhooks/delivery/post.js';
import { NO_FAILURES } from '../no-failures.js';

const HOUR = 3_600_000;
const START = Date.parse('2026-03-01T12:00:00Z');

describe('The delays after failures', () => {
  it('are 5 s, 30 s, 2 min, 5 min, 15 min, then one hour each, with 20 % jitter', () => {
    const delays = [5_000, 30_000, 120_000, 300_000, 900_000, HOUR, HOUR, HOUR];
    expect(delays.map((_, index) => delayAfter(index + 1, undefined, 0.5))).toEqual(delays);
    expect(delays.map((_, index) => delayAfter(index + 1, undefined, 0))).toEqual(delays.map((ms) => ms * 0.8));
    expect(delays.map((_, index) => delayAfter(index + 1, undefined, 1))).toEqual(delays.map((ms) => ms * 1.2));
  });

  it('are at least what the endpoint requests, up to an hour', () => {
    expect(delayAfter(1, 90_000, 0.5)).toBe(90_000);
    expect(delayAfter(1, 24 * HOUR, 0.5)).toBe(HOUR);
    expect(delayAfter(6, 1_000, 0.5)).toBe(HOUR);
  });

  it('accept only seconds or a date in Retry-After', () => {
    expect(retryAfterOf('120', START)).toBe(120_000);
    expect(retryAfterOf('Sun, 01 Mar 2026 12:01:30 GMT', START)).toBe(90_000);
    expect(retryAfterOf('Sun, 01 Mar 2026 11:00:00 GMT', START)).toBe(0);
    for (const value of ['', 'soon', '-5', '1.5', '99999999999', '2026-03-01', 'Foo, 99 Bar 2026 99:99:99 GMT'])
      expect(retryAfterOf(value, START)).toBeUndefined();
  });
});

describe('The outcome of an attempt', () => {
  const end = { position: 20, event: '0123abcd' };
  const rejection: EndpointResponse = { status: 422, error: 'responded with 422' };

  interface Given {
    readonly records?: number;
    readonly maxBatch?: number;
    readonly now?: number;
  }
  const attempt = (
    progress: StoredProgress,
    response: EndpointResponse,
    { records = 1, maxBatch = 1, now = START }: Given = {},
  ) =>
    outcomeOf({
      progress,
      at: now,
      response,
      batch: {
        records: Array.from({ length: records }, (_, n) => ({ type: 'threat', id: `t${n}` })),
        contentType: '',
        body: Buffer.alloc(0),
        end,
      },
      maxBatch,
      limits: { size: records },
      now,
    });

  it('moves the cursor after a success, and keeps it after a failure', () => {
    const failed = attempt(NO_FAILURES, { status: 500, error: 'responded with 500' });
    const lastFailure = { at: START, status: 500, error: 'responded with 500', answer: '' };
    expect(failed.progress).toMatchObject({ position: 10, tries: 1, failingSince: START, lastFailure });
    expect(failed.limits).toEqual({ size: 1, upTo: 20 });
    const succeeded = attempt(failed.progress, { status: 200 });
    expect(succeeded.progress).toEqual({ ...NO_FAILURES, ...end, lastSuccessAt: START, lastFailure });
  });

  it('disables the endpoint after a 410, and after five days of failures', () => {
    expect(attempt(NO_FAILURES, { status: 410, error: '' }).disable).toBe('gone');
    const since = (days: number): Outcome =>
      attempt(
        { ...NO_FAILURES, failingSince: START - days * 24 * HOUR, tries: 9 },
        { error: 'the connection was refused' },
      );
    expect(since(4.99).disable).toBeUndefined();
    expect(since(5).disable).toBe('failing');
  });

  it('does not disable the endpoint for a failure after hours without an attempt', () => {
    const after = (hours: number): Outcome =>
      attempt(
        {
          ...NO_FAILURES,
          failingSince: START - 6 * 24 * HOUR,
          lastFailure: { at: START - hours * HOUR, error: 'responded with 422', answer: '' },
        },
        { status: 503, error: 'responded with 503' },
      );
    expect(after(2.9).disable).toBe('failing');
    expect(after(3.1)).toMatchObject({ progress: { failingSince: START, tries: 1 } });
    expect(after(3.1).disable).toBeUndefined();
  });

  it('sends a rejected batch again record by record, and doubles the size after each accepted delivery', () => {
    const rejected = attempt({ ...NO_FAILURES, tries: 1 }, rejection, { records: 100, maxBatch: 100 });
    expect(rejected.limits).toEqual({ size: 1 });
    // The delay does not grow, because the endpoint rejects the content but is available.
    expect(rejected.progress.tries).toBe(1);
    const sizes: number[] = [];
    for (let { size } = rejected.limits; size < 100; sizes.push(size))
      ({ size } = attempt(NO_FAILURES, { status: 200 }, { records: size, maxBatch: 100 }).limits);
    expect(sizes).toEqual([2, 4, 8, 16, 32, 64, 100]);
  });

  it('sets a record aside and names it after it was rejected twenty times when sent alone', () => {
    let progress = NO_FAILURES;
    for (let n = 1; n < 20; n += 1) {
      const outcome = attempt(progress, rejection);
      expect(outcome.progress).toMatchObject({ position: 10, refused: n });
      expect(outcome.setAside).toBeUndefined();
      ({ progress } = outcome);
    }
    const last = attempt(progress, rejection);
    expect(last.setAside).toEqual({ type: 'threat', id: 't0' });
    // The endpoint counts as failing until a delivery succeeds, but the next record is sent immediately.
    expect(last.progress).toMatchObject({ ...end, refused: 0, tries: 0, nextAttemptAt: null, failingSince: START });
  });

  it('never sets aside a batch, nor a record after other failures', () => {
    for (const status of [401, 403, 404, 429, 500, 503])
      expect(attempt({ ...NO_FAILURES, refused: 19 }, { status, error: '' }).setAside).toBeUndefined();
    expect(attempt({ ...NO_FAILURES, refused: 19 }, rejection, { records: 2, maxBatch: 2 }).setAside).toBeUndefined();
  });
});
