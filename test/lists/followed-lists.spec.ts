import { setImmediate } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { TooManyRequests, Unavailable } from '../../src/errors.js';
import { FollowedLists } from '../../src/lists/followed-lists.js';
import { Readiness } from '../../src/ops/readiness.js';
import type { WatchPool } from '../../src/read-models/pools.js';
import { TestClock } from '../support/test-clock.js';

const OF_ADDRESS = 500;
const OF_KEY = 10_000;
const IN_ALL = 12_000;
const WAIT_MS = 25_000;

let clock: TestClock;
let readiness: Readiness;
let followed: FollowedLists;
let clients: AbortController;
beforeEach(() => {
  clock = new TestClock();
  readiness = new Readiness();
  clients = new AbortController();
  const pool = { query: () => Promise.resolve({ rows: [] }) } as unknown as WatchPool;
  followed = new FollowedLists(pool, readiness, new Registry(), clock);
});

const wait = (keyId: string | undefined, address = '192.0.2.1', signal = new AbortController().signal): Promise<void> =>
  followed.wait(followed.lists[0]!, { keyId, stranger: `${keyId} ${address}` }, WAIT_MS, signal);
/** Each address waits as often as it may. */
const waitOften = (keyId: string | undefined, times: number): Promise<void>[] =>
  Array.from({ length: times }, (_, n) => wait(keyId, `198.51.100.${Math.floor(n / OF_ADDRESS)}`, clients.signal));

describe('Requests that wait for a list', () => {
  it('are limited to 10,000 of a key and 12,000 of a process, and free their places when they end', async () => {
    const waiting = waitOften('a', OF_KEY);
    await expect(wait('a')).rejects.toThrow(TooManyRequests);
    await expect(wait('a')).rejects.toThrow('At most 10,000 requests of a key may wait');
    await expect(wait('a')).rejects.toThrow('without Prefer: wait');
    waiting.push(...waitOften('b', IN_ALL - OF_KEY));
    await expect(wait('c')).rejects.toThrow(Unavailable);
    expect(followed.size).toBe(IN_ALL);
    clients.abort();
    await Promise.all(waiting);
    expect(followed.size).toBe(0);
  });

  it.each([['a'], [undefined]])('are limited to 500 of an address with the key %j', async (keyId) => {
    const waiting = waitOften(keyId, OF_ADDRESS);
    await expect(wait(keyId, '198.51.100.0')).rejects.toThrow(TooManyRequests);
    await expect(wait(keyId, '198.51.100.0')).rejects.toThrow(
      'At most 500 requests of an address may wait for new data; retry later, or without Prefer: wait',
    );
    waiting.push(wait(keyId, '198.51.100.1', clients.signal), wait('b', '198.51.100.0', clients.signal));
    expect(followed.size).toBe(OF_ADDRESS + 2);
    clients.abort();
    await Promise.all(waiting);
    expect(followed.size).toBe(0);
  });

  it.each(['disconnect', 'have waited long enough'])(
    'let other work run in between if a thousand clients %s at the same time',
    async (what) => {
      const waiting = waitOften('a', 1_000);
      if (what === 'disconnect') clients.abort();
      else await clock.advance(WAIT_MS);
      for (let turn = 0; turn < 5; turn += 1) await setImmediate();
      expect(followed.size).toBeGreaterThan(800);
      await Promise.all(waiting);
      expect(followed.size).toBe(0);
    },
  );

  it('end when their time is over', async () => {
    const waiting = wait('a');
    await clock.advance(WAIT_MS - 1);
    expect(followed.size).toBe(1);
    await clock.advance(1);
    await waiting;
  });

  it('end at once if the client has disconnected, or the process stops', async () => {
    await wait('a', undefined, AbortSignal.abort());
    readiness.stopping = true;
    await wait('a');
    expect(followed.size).toBe(0);
  });

  it('are answered when the process stops', async () => {
    const waiting = wait('a');
    readiness.stopping = true;
    const stop = new AbortController();
    const running = followed.run(stop.signal);
    await waiting;
    stop.abort();
    await running;
  });
});
