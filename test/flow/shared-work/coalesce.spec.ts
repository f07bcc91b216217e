import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { coalesce } from '../../../src/flow/shared-work.js';

/** A job whose runs the spec ends. */
const slowJob = () => {
  const runs: { end: (value: string) => void; fail: (error: Error) => void }[] = [];
  const call = coalesce(() => new Promise<string>((end, fail) => runs.push({ end, fail })));
  return { runs, call };
};

/** Waits until the runs that are due have begun. */
const turn = async (): Promise<void> => {
  await setImmediate();
  await setImmediate();
};

describe('A coalesced job', () => {
  it('runs once for calls in the same turn of the event loop', async () => {
    const { runs, call } = slowJob();
    const calls = [call(), call()];
    await turn();
    expect(runs).toHaveLength(1);
    runs[0]!.end('one');
    expect(await Promise.all(calls)).toEqual(['one', 'one']);
  });

  it('shares the next run among all calls during a run', async () => {
    const { runs, call } = slowJob();
    const first = call();
    await turn();
    const [second, third] = [call(), call()];
    await turn();
    expect(runs).toHaveLength(1);
    runs[0]!.end('one');
    expect(await first).toBe('one');
    await turn();
    expect(runs).toHaveLength(2);
    runs[1]!.end('two');
    expect(await Promise.all([second, third])).toEqual(['two', 'two']);
  });

  it('never runs twice at the same time', async () => {
    let running = 0;
    let maxConcurrent = 0;
    let runCount = 0;
    const call = coalesce(async () => {
      runCount += 1;
      maxConcurrent = Math.max(maxConcurrent, ++running);
      await setImmediate();
      running -= 1;
    });
    const calls: Promise<void>[] = [];
    for (let n = 0; n < 300; n += 1) {
      calls.push(call());
      for (let turns = n % 7; turns > 0; turns -= 1) await (turns > 4 ? setImmediate() : Promise.resolve());
    }
    await Promise.all(calls);
    expect(maxConcurrent).toBe(1);
    expect(runCount).toBeGreaterThan(10);
  });

  it('rejects the calls of a failed run and the calls that waited for the next run, and then runs again', async () => {
    const { runs, call } = slowJob();
    const first = call();
    await turn();
    const second = call();
    runs[0]!.fail(new Error('failed'));
    await expect(first).rejects.toThrow('failed');
    await expect(second).rejects.toThrow('failed');
    const third = call();
    await turn();
    expect(runs).toHaveLength(2);
    runs[1]!.end('back');
    expect(await third).toBe('back');
  });
});
