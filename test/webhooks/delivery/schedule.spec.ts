import { describe, expect, it } from '@jest/globals';
import type { StoredProgress } from '../../../src/read-models/webhooks/statements.js';
import type { Answer } from '../../../src/webhooks/delivery/requests/answer.js';
import { outcomeOf, type Outcome } from '../../../src/webhooks/delivery/outcome.js';
import { delayAfter, retryAfterOf } from '../../../src/webhooks/delivery/schedule.js';
import { UNTRIED } from './untried.js';

const HOUR = 3_600_000;
const START = Date.parse('2026-03-01T12:00:00Z');

describe('The delays after failures', () => {
  it('are 5 s, 30 s, 2 min, 5 min, 15 min, then an hour each, give or take a fifth', () => {
    const delays = [5_000, 30_000, 120_000, 300_000, 900_000, HOUR, HOUR, HOUR];
    expect(delays.map((_, index) => delayAfter(index + 1, undefined, 0.5))).toEqual(delays);
    expect(delays.map((_, index) => delayAfter(index + 1, undefined, 0))).toEqual(delays.map((ms) => ms * 0.8));
    expect(delays.map((_, index) => delayAfter(index + 1, undefined, 1))).toEqual(delays.map((ms) => ms * 1.2));
  });

  it('are never shorter than the endpoint asks for, within an hour', () => {
    expect(delayAfter(1, 90_000, 0.5)).toBe(90_000);
    expect(delayAfter(1, 24 * HOUR, 0.5)).toBe(HOUR);
    expect(delayAfter(6, 1_000, 0.5)).toBe(HOUR);
  });

  it('read Retry-After as seconds or a date, and nothing else', () => {
    expect(retryAfterOf('120', START)).toBe(120_000);
    expect(retryAfterOf('Sun, 01 Mar 2026 12:01:30 GMT', START)).toBe(90_000);
    expect(retryAfterOf('Sun, 01 Mar 2026 11:00:00 GMT', START)).toBe(0);
    for (const value of ['', 'soon', '-5', '1.5', '99999999999', '2026-03-01', 'Foo, 99 Bar 2026 99:99:99 GMT'])
      expect(retryAfterOf(value, START)).toBeUndefined();
  });
});

describe('What an attempt leads to', () => {
  const end = { position: 20, event: '0123abcd', parked: 0, parkedFrom: null };
  const refusal: Answer = { status: 422, error: 'answered 422' };

  interface Given {
    readonly records?: number;
    readonly most?: number;
    readonly now?: number;
  }
  const attempt = (progress: StoredProgress, answer: Answer, { records = 1, most = 1, now = START }: Given = {}) =>
    outcomeOf({
      progress,
      at: now,
      answer,
      batch: {
        records: Array.from({ length: records }, (_, n) => ({ type: 'threat', id: `t${n}` })),
        contentType: '',
        body: Buffer.alloc(0),
        end,
      },
      most,
      portion: { size: records },
      now,
    });

  it('is the next record after a success, and the same after a failure', () => {
    const failed = attempt(UNTRIED, { status: 500, error: 'answered 500' });
    const lastFailure = { at: START, status: 500, error: 'answered 500', answer: '' };
    expect(failed.progress).toMatchObject({ position: 10, tries: 1, failingSince: START, lastFailure });
    expect(failed.portion).toEqual({ size: 1, upTo: 20 });
    const taken = attempt(failed.progress, { status: 200 });
    expect(taken.progress).toEqual({ ...UNTRIED, ...end, lastSuccessAt: START, lastFailure });
  });

  it('is the end at a 410, and after five days of failures', () => {
    expect(attempt(UNTRIED, { status: 410, error: '' }).disable).toBe('gone');
    const since = (days: number): Outcome =>
      attempt(
        { ...UNTRIED, failingSince: START - days * 24 * HOUR, tries: 9 },
        { error: 'the connection was refused' },
      );
    expect(since(4.99).disable).toBeUndefined();
    expect(since(5).disable).toBe('failing');
  });

  it('is half of a batch that is refused, down to one record, and twice as much again of what is taken', () => {
    let portion = attempt(UNTRIED, refusal, { records: 100, most: 100 }).portion;
    expect(portion).toEqual({ size: 50 });
    const sizes: number[] = [];
    while (portion.size > 1) {
      portion = attempt(UNTRIED, refusal, { records: portion.size, most: 100 }).portion;
      sizes.push(portion.size);
    }
    expect(sizes).toEqual([25, 13, 7, 4, 2, 1]);
    expect(attempt(UNTRIED, { status: 200 }, { records: 13, most: 100 }).portion).toEqual({ size: 26 });
    // The wait does not grow: it is the content that is refused, not the endpoint that is away.
    expect(attempt({ ...UNTRIED, tries: 1 }, refusal, { records: 50, most: 100 }).progress.tries).toBe(1);
  });

  it('is that a record is set aside once it was refused twenty times alone, and named', () => {
    let progress = UNTRIED;
    for (let n = 1; n < 20; n += 1) {
      const outcome = attempt(progress, refusal);
      expect(outcome.progress).toMatchObject({ position: 10, refused: n });
      expect(outcome.setAside).toBeUndefined();
      ({ progress } = outcome);
    }
    const last = attempt(progress, refusal);
    expect(last.setAside).toEqual({ type: 'threat', id: 't0' });
    // It is still failing until something is taken, but what follows is sent at once.
    expect(last.progress).toMatchObject({ ...end, refused: 0, tries: 0, nextAttemptAt: null, failingSince: START });
  });

  it('is never that a record is set aside by other failures, nor a batch', () => {
    for (const status of [401, 403, 404, 429, 500, 503])
      expect(attempt({ ...UNTRIED, refused: 19 }, { status, error: '' }).setAside).toBeUndefined();
    expect(attempt({ ...UNTRIED, refused: 19 }, refusal, { records: 2, most: 2 }).setAside).toBeUndefined();
  });
});
