import { describe, expect, it } from '@jest/globals';
import { FairQueue } from '../../../src/flow/turns.js';

/** Takes at most `maxJobs` jobs, each of which lasts `job` ms. @returns the owners of the jobs, in order */
const drain = (queue: FairQueue<number>, maxJobs = Infinity): string[] => {
  const order: string[] = [];
  while (order.length < maxJobs) {
    const next = queue.take();
    if (next === undefined) break;
    order.push(next.name);
    next.spend(next.job);
  }
  return order;
};
const add = (queue: FairQueue<number>, name: string, jobs: number, ms: number): void => {
  for (let n = 0; n < jobs; n += 1) queue.add(name, ms);
};

describe('A fair queue', () => {
  it('takes the next job from the owner that has used the least time, however many jobs other owners have', () => {
    const queue = new FairQueue<number>();
    add(queue, 'long', 100, 4);
    add(queue, 'short', 100, 1);
    const order = drain(queue, 50);
    expect(order.filter((name) => name === 'short')).toHaveLength(40);
    expect(queue.isEmpty).toBe(false);
  });

  it('takes the job of an owner that was idle before the jobs of busy owners', () => {
    const queue = new FairQueue<number>();
    for (const name of ['a', 'b', 'c', 'd']) add(queue, name, 100, 1);
    drain(queue, 42);
    add(queue, 'idle', 1, 0.1);
    expect(drain(queue, 1)).toEqual(['idle']);
  });

  it('gives no advantage to an owner that always queues a single job', () => {
    const queue = new FairQueue<number>();
    add(queue, 'many', 100, 1);
    const order: string[] = [];
    for (let n = 0; n < 100; n += 1) {
      if (n === 0 || order.at(-1) === 'single') add(queue, 'single', 1, 1);
      order.push(...drain(queue, 1));
    }
    expect(order.filter((name) => name === 'many').length).toBeGreaterThanOrEqual(49);
  });

  it('returns no job and keeps no owner after all jobs have been taken', () => {
    const queue = new FairQueue<number>();
    for (let n = 0; n < 1_000; n += 1) add(queue, `organization-${n}`, 1, n);
    expect(drain(queue)).toHaveLength(1_000);
    expect({
      isEmpty: queue.isEmpty,
      owners: (queue as unknown as { owners: Map<string, unknown> }).owners.size,
    }).toEqual({ isEmpty: true, owners: 0 });
  });
});
