import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { oneAtATime } from '../../src/asset-groups/one-at-a-time.js';

/** A job whose runs end when the spec says so. */
const slowJob = () => {
  const runs: { end: (value: string) => void; fail: (error: Error) => void }[] = [];
  const ask = oneAtATime(() => new Promise<string>((end, fail) => runs.push({ end, fail })));
  return { runs, ask };
};

describe('a job that runs one at a time', () => {
  it('gives who asks during a run the next one, and all of them the same', async () => {
    const { runs, ask } = slowJob();
    const first = ask();
    const [second, third] = [ask(), ask()];
    expect(runs).toHaveLength(1);
    runs[0]!.end('one');
    expect(await first).toBe('one');
    await setImmediate();
    expect(runs).toHaveLength(2);
    runs[1]!.end('two');
    expect(await Promise.all([second, third])).toEqual(['two', 'two']);
  });

  it('never runs twice at once, whenever somebody asks', async () => {
    let running = 0;
    let most = 0;
    const ask = oneAtATime(async () => {
      most = Math.max(most, ++running);
      await Promise.resolve();
      running -= 1;
    });
    const asked: Promise<void>[] = [];
    for (let n = 0; n < 200; n += 1) {
      asked.push(ask());
      for (let turn = n % 7; turn > 0; turn -= 1) await Promise.resolve();
    }
    await Promise.all(asked);
    expect(most).toBe(1);
  });

  it('tells a failure to those who shared the run and those who waited behind it, and then runs again', async () => {
    const { runs, ask } = slowJob();
    const [first, second] = [ask(), ask()];
    runs[0]!.fail(new Error('away'));
    await expect(first).rejects.toThrow('away');
    await expect(second).rejects.toThrow('away');
    const third = ask();
    expect(runs).toHaveLength(2);
    runs[1]!.end('back');
    expect(await third).toBe('back');
  });
});
