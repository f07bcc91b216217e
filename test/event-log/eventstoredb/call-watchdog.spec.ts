import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { CallWatchdog } from '../../../src/event-log/eventstoredb/call-watchdog.js';

const never = (): Promise<never> => new Promise(() => {});
const READ = { timeoutMs: 1_700, retryAfterMs: Number.POSITIVE_INFINITY };
const APPEND = { timeoutMs: 1_700, retryAfterMs: 400 };

describe('A call to the event store', () => {
  let deadConnections: number;
  let calls: CallWatchdog;
  beforeEach(() => {
    jest.useFakeTimers();
    deadConnections = 0;
    calls = new CallWatchdog(() => void deadConnections++);
  });
  afterEach(() => void jest.useRealTimers());

  /** Records the outcome of a promise, which is 'pending' at first. */
  const watch = (promise: Promise<unknown>): { readonly outcome: unknown } => {
    const watched: { outcome: unknown } = { outcome: 'pending' };
    promise.then(
      (result) => (watched.outcome = result),
      (error: Error) => (watched.outcome = error.message),
    );
    return watched;
  };

  it('has no time limit while it receives responses', async () => {
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
    expect(deadConnections).toBe(0);
  });

  it('fails after 1.7 s of silence, or after 5 s if other calls of its kind are answered', async () => {
    const alone = watch(calls.make('read', never, READ));
    await jest.advanceTimersByTimeAsync(1_800);
    expect(alone.outcome).toMatch(/did not answer within 17\d\d ms/);
    const amongOthers = watch(calls.make('read', never, READ));
    for (let n = 0; n < 4; n++) {
      await calls.make('read', () => Promise.resolve(), READ);
      await jest.advanceTimersByTimeAsync(1_200);
      expect(amongOthers.outcome).toBe('pending');
    }
    await calls.make('read', () => Promise.resolve(), READ);
    await jest.advanceTimersByTimeAsync(300);
    expect(amongOthers.outcome).toMatch(/did not answer within 50\d\d ms/);
  });

  it('is retried one at a time if many calls are unanswered, so that a node that is not the leader can report this', async () => {
    const attempts = Array.from({ length: 64 }, () => 0);
    for (const at of attempts.keys())
      watch(
        calls.make(
          'append',
          () => {
            attempts[at]!++;
            return never();
          },
          APPEND,
        ),
      );
    await jest.advanceTimersByTimeAsync(700);
    expect(attempts.filter((times) => times > 1)).toEqual([2]);
    await jest.advanceTimersByTimeAsync(500);
    expect(attempts.reduce((sum, times) => sum + times, 0)).toBe(64 + 2);
  });

  it('reports a dead connection after 3 s without a response to any call of its kind', async () => {
    for (let n = 0; n < 5; n++) {
      watch(calls.make('append', never, APPEND));
      await calls.make('read', () => Promise.resolve(), READ);
      await jest.advanceTimersByTimeAsync(700);
    }
    expect(deadConnections).toBe(1);
  });
});
