import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { coalesce } from '../../src/flow/coalesce.js';

/** A job whose runs end when the spec says so. */
const slowJob = () => {
  const runs: { end: (value: string) => void; fail: (error: Error) => void }[] = [];
  const ask = coalesce(() => new Promise<string>((end, fail) => runs.push({ end, fail })));
  return { runs, ask };
};

/** Until the runs that are due have begun. */
const turn = async (): Promise<void> => {
  await setImmediate();
  await setImmediate();
};

describe('A coalesced job', () => {
  it('runs once for calls in the same turn of the event loop', async () => {
    const { runs, ask } = slowJob();
    const asked = [ask(), ask()];
    await turn();
    expect(runs).toHaveLength(1);
    runs[0]!.end('one');
    expect(await Promise.all(asked)).toEqual(['one', 'one']);
  });

  it('gives all calls during a run the same next run', async () => {
    const { runs, ask } = slowJob();
    const first = ask();
    await turn();
    const [second, third] = [ask(), ask()];
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
    let most = 0;
    let all = 0;
    const ask = coalesce(async () => {
      all += 1;
      most = Math.max(most, ++running);
      await setImmediate();
      running -= 1;
    });
    const asked: Promise<void>[] = [];
    for (let n = 0; n < 300; n += 1) {
      asked.push(ask());
      for (let turns = n % 7; turns > 0; turns -= 1) await (turns > 4 ? setImmediate() : Promise.resolve());
    }
    await Promise.all(asked);
    expect(most).toBe(1);
    expect(all).toBeGreaterThan(10);
  });

  it('rejects the calls of a failed run and the calls that waited for the next one, and then runs again', async () => {
    const { runs, ask } = slowJob();
    const first = ask();
    await turn();
    const second = ask();
    runs[0]!.fail(new Error('away'));
    await expect(first).rejects.toThrow('away');
    await expect(second).rejects.toThrow('away');
    const third = ask();
    await turn();
    expect(runs).toHaveLength(2);
    runs[1]!.end('back');
    expect(await third).toBe('back');
  });
});
