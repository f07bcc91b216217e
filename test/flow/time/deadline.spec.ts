import { describe, expect, it } from '@jest/globals';
import { finishesWithin } from '../../../src/flow/time.js';

const never = new Promise<void>(() => {});

describe('finishesWithin', () => {
  it('returns whether work finished in time', async () => {
    expect(await finishesWithin(Promise.resolve(), 60_000)).toBe(true);
    expect(await finishesWithin(never, 1)).toBe(false);
  });

  it('rejects if the work failed in time', async () => {
    await expect(finishesWithin(Promise.reject(new Error('failed')), 60_000)).rejects.toThrow('failed');
  });
});
