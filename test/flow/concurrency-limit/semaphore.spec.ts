import { describe, expect, it } from '@jest/globals';
import { Semaphore } from '../../../src/flow/concurrency-limit.js';

const nextTurn = (): Promise<void> => new Promise(setImmediate);

describe('A semaphore', () => {
  it('admits waiting jobs one by one, in order, and never more at once than its limit', async () => {
    const semaphore = new Semaphore(2);
    const entered: number[] = [];
    const enter = async (n: number): Promise<void> => {
      await semaphore.acquire();
      entered.push(n);
    };
    for (const n of [1, 2, 3, 4]) void enter(n);
    await nextTurn();
    expect(entered).toEqual([1, 2]);
    semaphore.release();
    // The released slot belongs to the job that has waited longest, even before its promise resolves.
    void enter(5);
    await nextTurn();
    expect(entered).toEqual([1, 2, 3]);
    semaphore.release();
    semaphore.release();
    await nextTurn();
    expect(entered).toEqual([1, 2, 3, 4, 5]);
  });

  it('admits a job immediately once all earlier jobs have been released', () => {
    const semaphore = new Semaphore(1);
    expect(semaphore.acquire()).toBeUndefined();
    semaphore.release();
    expect(semaphore.acquire()).toBeUndefined();
    expect(semaphore.acquire()).toBeInstanceOf(Promise);
  });

  it('rejects all waiting jobs together, and keeps the slots of running jobs', async () => {
    const semaphore = new Semaphore(1);
    await semaphore.acquire();
    const waiting = [semaphore.acquire(), semaphore.acquire()];
    semaphore.rejectQueued(new Error('the store is gone'));
    for (const one of waiting) await expect(one).rejects.toThrow('the store is gone');
    expect(semaphore.acquire()).toBeInstanceOf(Promise);
  });
});
