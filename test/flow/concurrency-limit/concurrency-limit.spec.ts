import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { TooManyRequests, Unavailable, Unprocessable } from '../../../src/errors.js';
import { ConcurrencyLimit } from '../../../src/flow/concurrency-limit.js';
import { TimeSlices } from '../../../src/flow/turns.js';
import { countTurns } from '../../support/count-turns.js';

/** Queries that end when the spec calls `end`. */
class ControlledQueries {
  readonly started: string[] = [];
  private readonly ends = new Map<string, (answer: string) => void>();

  readonly query = (name: string) => (): Promise<string> => {
    this.started.push(name);
    return new Promise((resolve) => this.ends.set(name, resolve));
  };

  async end(name: string): Promise<void> {
    this.ends.get(name)!(`answer ${name}`);
    await nextTurn();
  }
}

const opened: ControlledQueries[] = [];
// The wait timeout and the cooldown are timers: time stands still until a spec advances it.
beforeEach(() => void jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance'] }));
afterEach(async () => {
  for (const queries of opened.splice(0)) for (const name of queries.started) await queries.end(name);
  jest.useRealTimers();
});

const open = (
  limits = { maxRunning: 2, maxWaiting: 3, waitTimeoutMs: 60_000, cooldownMs: 60_000 },
): { queries: ControlledQueries; limit: ConcurrencyLimit } => {
  const queries = new ControlledQueries();
  opened.push(queries);
  return { queries, limit: new ConcurrencyLimit({ name: 'queries', ...limits }) };
};

describe('The concurrency limit of an organization', () => {
  it('runs two jobs at a time, in order of arrival', async () => {
    const { queries, limit } = open();
    const answers = ['a', 'b', 'c', 'd'].map((name) => limit.run('one', name, queries.query(name)));
    expect(queries.started).toEqual(['a', 'b']);
    await queries.end('b');
    expect(queries.started).toEqual(['a', 'b', 'c']);
    for (const name of ['a', 'c', 'd']) await queries.end(name);
    expect(await Promise.all(answers)).toEqual(['answer a', 'answer b', 'answer c', 'answer d']);
  });

  it('does not make jobs wait for other organizations', () => {
    const { queries, limit } = open();
    for (const name of ['a', 'b', 'c']) void limit.run('noisy', name, queries.query(name));
    void limit.run('quiet', 'd', queries.query('d'));
    expect(queries.started).toEqual(['a', 'b', 'd']);
  });

  it('shares one run among jobs with the same key if the run has not started', async () => {
    const { queries, limit } = open();
    for (const name of ['a', 'b']) void limit.run('one', name, queries.query(name));
    const equal = Array.from({ length: 50 }, (_, n) => limit.run('one', 'c', queries.query(`c${n}`)));
    await queries.end('a');
    await queries.end('c0');
    expect(queries.started).toEqual(['a', 'b', 'c0']);
    expect(new Set(await Promise.all(equal))).toEqual(new Set(['answer c0']));
  });

  it.each(['ends', 'fails'])('lets other work run between the jobs that share a run, if it %s', async (how) => {
    const limits = { name: 'queries', maxRunning: 1, maxWaiting: 3, waitTimeoutMs: 60_000 };
    const limit = new ConcurrencyLimit(limits, new TimeSlices());
    let end!: () => void;
    const first = limit.run('one', 'a', () => new Promise<void>((resolve) => (end = resolve)));
    const job = async (): Promise<void> => {
      if (how === 'fails') throw new Error('broken');
    };
    const answer = async (): Promise<void> => {
      await limit.run('one', 'b', job).catch(() => undefined);
      for (const until = performance.now() + 2; performance.now() < until;);
    };
    const answers = Array.from({ length: 30 }, answer);
    const turns = countTurns(Promise.all([first, ...answers]));
    end();
    expect(await turns).toBeGreaterThanOrEqual(20);
  });

  it('does not share a run that started before the job arrived', () => {
    const { queries, limit } = open();
    void limit.run('one', 'a', queries.query('a'));
    void limit.run('one', 'a', queries.query('a, arrived later'));
    expect(queries.started).toEqual(['a', 'a, arrived later']);
  });

  it('shares no run among jobs without a key', () => {
    const { queries, limit } = open();
    for (const name of ['a', 'b', 'c', 'd']) void limit.run('one', undefined, queries.query(name));
    void limit.run('one', undefined, queries.query('e'));
    expect(() => limit.run('one', undefined, queries.query('f'))).toThrow(
      'Too many queries of this organization are waiting',
    );
  });

  it('rejects a job if too many different jobs are waiting', () => {
    const { queries, limit } = open();
    for (const name of ['a', 'b', 'c', 'd', 'e']) void limit.run('one', name, queries.query(name));
    expect(() => limit.run('one', 'f', queries.query('f'))).toThrow(TooManyRequests);
    void limit.run('one', 'e', queries.query('e'));
    void limit.run('another', 'f', queries.query('f'));
    expect(queries.started).toEqual(['a', 'b', 'f']);
  });

  it('lets each request that waits for the same job wait for the whole timeout', async () => {
    const { queries, limit } = open({ maxRunning: 1, maxWaiting: 1, waitTimeoutMs: 1_000, cooldownMs: 0 });
    void limit.run('one', 'a', queries.query('a'));
    const rejected: string[] = [];
    const wait = (name: string): Promise<string> =>
      limit.run('one', 'b', queries.query('b')).catch(() => (rejected.push(name), name));
    void wait('first');
    await jest.advanceTimersByTimeAsync(990);
    const second = wait('second');
    await jest.advanceTimersByTimeAsync(10);
    expect(rejected).toEqual(['first']);
    await queries.end('a');
    await queries.end('b');
    expect(await second).toBe('answer b');
    void limit.run('one', 'c', queries.query('c'));
    const last = [wait('third'), wait('fourth')];
    await jest.advanceTimersByTimeAsync(1_000);
    expect(await Promise.all(last)).toEqual(['third', 'fourth']);
    void limit.run('one', 'd', queries.query('d'));
    await queries.end('c');
    expect(queries.started).toEqual(['a', 'b', 'c', 'd']);
  });

  it('rejects a job that has waited for the timeout, and frees its place in the queue', async () => {
    const { queries, limit } = open({ maxRunning: 1, maxWaiting: 1, waitTimeoutMs: 1_000, cooldownMs: 0 });
    void limit.run('one', 'a', queries.query('a'));
    const rejected: unknown[] = [];
    void limit.run('one', 'b', queries.query('b')).catch((error: unknown) => rejected.push(error));
    await jest.advanceTimersByTimeAsync(990);
    expect(rejected).toEqual([]);
    await jest.advanceTimersByTimeAsync(10);
    expect(rejected).toEqual([expect.any(Unavailable)]);
    const last = limit.run('one', 'c', queries.query('c'));
    await queries.end('a');
    expect(queries.started).toEqual(['a', 'c']);
    // A job that has started may take as long as it needs.
    await jest.advanceTimersByTimeAsync(1_000);
    await queries.end('c');
    expect(await last).toBe('answer c');
  });

  it('starts the next job after a job has failed', async () => {
    const { queries, limit } = open({ maxRunning: 1, maxWaiting: 3, waitTimeoutMs: 60_000, cooldownMs: 60_000 });
    const failing = limit.run('one', 'a', () => nextTurn().then(() => Promise.reject(new Error('broken'))));
    void limit.run('one', 'b', queries.query('b'));
    await expect(failing).rejects.toThrow('broken');
    expect(queries.started).toEqual(['b']);
  });

  it('keeps the slot occupied for the cooldown after a result that is too large', async () => {
    const { queries, limit } = open({ maxRunning: 1, maxWaiting: 3, waitTimeoutMs: 60_000, cooldownMs: 500 });
    const tooLarge = limit.run('one', 'a', () => Promise.reject(new Unprocessable('too large')));
    void limit.run('one', 'b', queries.query('b'));
    await expect(tooLarge).rejects.toThrow('too large');
    await jest.advanceTimersByTimeAsync(490);
    expect(queries.started).toEqual([]);
    await jest.advanceTimersByTimeAsync(10);
    expect(queries.started).toEqual(['b']);
  });
});
