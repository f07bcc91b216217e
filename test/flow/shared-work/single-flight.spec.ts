import { describe, expect, it } from '@jest/globals';
import { singleFlight } from '../../../src/flow/shared-work.js';

describe('singleFlight', () => {
  it('shares a run among calls during the run, and starts a new run afterwards', async () => {
    let runs = 0;
    const call = singleFlight(async () => (runs += 1));
    expect(await Promise.all([call(), call(), call()])).toEqual([1, 1, 1]);
    expect(await call()).toBe(2);
  });

  it('rejects all calls that share a failed run, and the next call runs again', async () => {
    let runs = 0;
    const call = singleFlight(async () => {
      runs += 1;
      if (runs === 1) throw new Error('once');
      return runs;
    });
    const outcomes = await Promise.allSettled([call(), call()]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await call()).toBe(2);
  });

  it('keeps a result, but no failure, for the given time', async () => {
    let [runs, now] = [0, 0];
    const call = singleFlight(
      async () => {
        if (++runs === 1) throw new Error('no descriptor left');
        return runs;
      },
      1_000,
      { now: () => now },
    );
    const first = await Promise.allSettled([call(), call()]);
    expect(first.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await Promise.all([call(), call(), call()])).toEqual([2, 2, 2]);
    now = 999;
    expect(await call()).toBe(2);
    now = 1_000;
    expect(await call()).toBe(3);
  });
});
