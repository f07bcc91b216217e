import { describe, expect, it, jest } from '@jest/globals';
import { DelayedFlush } from '../../../src/flow/background.js';
import { eventually } from '../../support/eventually.js';

const fail = (error: unknown): never => {
  throw error;
};

describe('A delayed flush', () => {
  it('runs once for several calls of schedule()', async () => {
    let flushes = 0;
    const flush = new DelayedFlush(1, async () => void (flushes += 1), fail);
    flush.schedule();
    flush.schedule();
    await eventually('the flush has run', () => flushes === 1);
    await flush.stop();
    expect(flushes).toBe(2);
  });

  it('is retried after a failure, and never rejects', async () => {
    let tries = 0;
    const errors: unknown[] = [];
    const flush = new DelayedFlush(
      1,
      async () => {
        tries += 1;
        if (tries < 3) throw new Error('the database is unavailable');
      },
      (error) => errors.push(error),
    );
    await expect(flush.now()).resolves.toBeUndefined();
    await eventually('the third try has started', () => tries >= 3);
    await flush.stop();
    expect(errors).toEqual([1, 2].map(() => new Error('the database is unavailable')));
  });

  it('does not run again after stop(), because the database connection is closed', async () => {
    jest.useFakeTimers();
    try {
      const flush = new DelayedFlush(
        0,
        () => Promise.reject(new Error('the pool has ended')),
        () => {},
      );
      await flush.stop();
      flush.schedule();
      expect(jest.getTimerCount()).toBe(0);
    } finally {
      jest.useRealTimers();
    }
  });

  it('never runs twice at the same time', async () => {
    let [running, maxRunning] = [0, 0];
    const flush = new DelayedFlush(
      1,
      async () => {
        maxRunning = Math.max(maxRunning, (running += 1));
        await new Promise((resolve) => setImmediate(resolve));
        running -= 1;
      },
      fail,
    );
    await Promise.all([flush.now(), flush.now(), flush.now()]);
    expect(maxRunning).toBe(1);
  });
});
