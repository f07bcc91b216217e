import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { CallWatchdog } from '../../../src/event-log/eventstoredb/call-watchdog.js';

const never = (): Promise<never> => new Promise(() => {});
const READ = { limitMs: 1_700, repeatMs: Number.POSITIVE_INFINITY };
const APPEND = { limitMs: 1_700, repeatMs: 400 };

describe('A call to the event store', () => {
  let deaths: number;
  let calls: CallWatchdog;
  beforeEach(() => {
    jest.useFakeTimers();
    deaths = 0;
    calls = new CallWatchdog(() => void deaths++);
  });
  afterEach(() => void jest.useRealTimers());

  /** What has become of a promise so far. */
  const watch = (promise: Promise<unknown>): { readonly outcome: unknown } => {
    const watched: { outcome: unknown } = { outcome: 'pending' };
    promise.then(
      (result) => (watched.outcome = result),
      (error: Error) => (watched.outcome = error.message),
    );
    return watched;
  };

  it('may take as long as it likes while something of it is heard', async () => {
    let finish = (_result: string): void => {};
    let heartbeat = (): void => {};
    const read = watch(
      calls.make(
        'read',
        (call) => {
          heartbeat = () => call.heartbeat();
          return new Promise((resolve) => (finish = resolve));
        },
        READ,
      ),
    );
    for (let n = 0; n < 60; n++) {
      await jest.advanceTimersByTimeAsync(1_000);
      heartbeat();
    }
    finish('all of it');
    await jest.advanceTimersByTimeAsync(0);
    expect(read.outcome).toBe('all of it');
    expect(deaths).toBe(0);
  });

  it('is given up when nothing of it is heard, or for longer if others of its kind are answered', async () => {
    const alone = watch(calls.make('read', never, READ));
    await jest.advanceTimersByTimeAsync(1_800);
    expect(alone.outcome).toMatch(/did not answer within 17\d\d ms/);
    const beside = watch(calls.make('read', never, READ));
    for (let n = 0; n < 4; n++) {
      await calls.make('read', () => Promise.resolve(), READ);
      await jest.advanceTimersByTimeAsync(1_200);
      expect(beside.outcome).toBe('pending');
    }
    await calls.make('read', () => Promise.resolve(), READ);
    await jest.advanceTimersByTimeAsync(300);
    expect(beside.outcome).toMatch(/did not answer within 50\d\d ms/);
  });

  it('that is one of many unanswered ones is made again by itself, so that a node that does not lead can say so', async () => {
    const made = Array.from({ length: 64 }, () => 0);
    for (const at of made.keys())
      watch(
        calls.make(
          'append',
          () => {
            made[at]!++;
            return never();
          },
          APPEND,
        ),
      );
    await jest.advanceTimersByTimeAsync(700);
    expect(made.filter((times) => times > 1)).toEqual([2]);
    await jest.advanceTimersByTimeAsync(500);
    expect(made.reduce((sum, times) => sum + times, 0)).toBe(64 + 2);
  });

  it('shows a dead connection, whatever is pending, when nothing of its kind is heard for three seconds', async () => {
    for (let n = 0; n < 5; n++) {
      watch(calls.make('append', never, APPEND));
      await calls.make('read', () => Promise.resolve(), READ);
      await jest.advanceTimersByTimeAsync(700);
    }
    expect(deaths).toBe(1);
  });
});
