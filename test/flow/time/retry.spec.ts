import { describe, expect, it, jest } from '@jest/globals';
import { Backoff, pause, retry } from '../../../src/flow/time.js';

const pauses = (backoff: Backoff, times: number): number[] => Array.from({ length: times }, () => backoff.next());

describe('The back-off before a retry', () => {
  it('doubles up to its maximum, however many attempts fail', () => {
    const random = jest.spyOn(Math, 'random').mockReturnValue(0);
    const backoff = new Backoff(50, 1_000);
    expect(pauses(backoff, 7)).toEqual([50, 100, 200, 400, 800, 1_000, 1_000]);
    pauses(backoff, 2_000);
    expect(backoff.next()).toBe(1_000);
    random.mockRestore();
  });

  it('starts with the first pause again after a success', () => {
    const random = jest.spyOn(Math, 'random').mockReturnValue(0);
    const backoff = new Backoff(50, 1_000);
    pauses(backoff, 3);
    backoff.reset();
    expect(pauses(backoff, 2)).toEqual([50, 100]);
    random.mockRestore();
  });

  it('is random between half of the pause and the whole pause', () => {
    const all = Array.from({ length: 200 }, () => new Backoff(1_000, 1_000).next());
    expect(new Set(all).size).toBeGreaterThan(50);
    expect(Math.min(...all)).toBeGreaterThan(500);
    expect(Math.max(...all)).toBeLessThanOrEqual(1_000);
  });

  it('ends immediately and without an error when the signal aborts', async () => {
    const stop = new AbortController();
    const waiting = pause(60_000, stop.signal);
    stop.abort();
    await expect(waiting).resolves.toBeUndefined();
    await expect(pause(60_000, AbortSignal.abort())).resolves.toBeUndefined();
  });

  it('does not end at once because it is longer than a timer can be', async () => {
    const stop = new AbortController();
    const long = pause(2 ** 31, stop.signal).then(() => 'long');
    expect(await Promise.race([long, pause(50).then(() => 'short')])).toBe('short');
    stop.abort();
  });
});

describe('A retry', () => {
  const failing = (failures: number) => {
    let calls = 0;
    const work = async (): Promise<number> => {
      calls += 1;
      if (calls <= failures) throw new Error(`failure ${calls}`);
      return calls;
    };
    return { work, calls: () => calls };
  };

  it('repeats the work until it succeeds, and asks for each pause with the error', async () => {
    const messages: string[] = [];
    const pauseAfter = (error: unknown): number => {
      messages.push((error as Error).message);
      return 0;
    };
    expect(await retry(failing(2).work, pauseAfter)).toBe(3);
    expect(messages).toEqual(['failure 1', 'failure 2']);
  });

  it('throws the last error once no pause is returned', async () => {
    const { work, calls } = failing(5);
    await expect(retry(work, () => (calls() < 3 ? 0 : undefined))).rejects.toThrow('failure 3');
  });

  it('throws the reason of the signal and does not repeat the work if the signal aborts during a pause', async () => {
    const { work, calls } = failing(5);
    const stop = new AbortController();
    const stopping = new Error('stopping');
    const pauseAfter = (): number => {
      stop.abort(stopping);
      return 60_000;
    };
    await expect(retry(work, pauseAfter, stop.signal)).rejects.toBe(stopping);
    expect(calls()).toBe(1);
  });
});
