import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { readContent } from '../../src/asset-groups/membership.js';
import { MembershipQueue } from '../../src/asset-groups/change-membership.js';
import { TooManyRequests, Unavailable } from '../../src/errors.js';
import type { Amount } from '../../src/quotas/daily-quota.js';
import { InMemoryEventLog } from '../support/in-memory-event-log.js';

describe('Waiting membership changes', () => {
  /** The number of events of each successful append. */
  let stored: number[];
  /** Events that the organization may still store. */
  let eventsLeft: number;
  /** Bytes that the organization may still store. */
  let bytesLeft: number;
  /** The number of appends that will still succeed. */
  let appends: number;
  let open: (error?: Error) => void;
  let queue: MembershipQueue;
  beforeEach(() => {
    [stored, eventsLeft, appends] = [[], Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
    bytesLeft = 1_000_000;
    const gate = new Promise<void>((resolve, reject) => {
      open = (error) => (error ? reject(error) : resolve());
    });
    // The promise may reject before the queue awaits it.
    gate.catch(() => {});
    const dependencies = [
      new InMemoryEventLog([], {
        fate: (events) => {
          if ((appends -= 1) < 0) return 'lost';
          stored.push(events.length);
          return 'answered';
        },
      }),
      {
        query: async ({ name }: { name: string }) => ({ rows: name === 'clock-read' ? [{ now: Date.now() }] : [] }),
      },
      { find: async (_: string, ids: number[]) => ({ result: ids.map((id) => ({ id })), position: 0n }) },
      { reached: () => gate.then(() => true) },
      {
        refuser: async () => (cost: Amount) =>
          cost.events > eventsLeft || cost.bytes > bytesLeft
            ? new TooManyRequests(60, 'The quota is used up')
            : undefined,
        charge: (_: string, { events, bytes }: Amount) => void ((eventsLeft -= events), (bytesLeft -= bytes)),
        refund: (_: string, { events, bytes }: Amount) => void ((eventsLeft += events), (bytesLeft += bytes)),
      },
    ];
    queue = new MembershipQueue(...(dependencies as unknown as ConstructorParameters<typeof MembershipQueue>));
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });

  const add = (groupId: number, ...contents: string[]) =>
    queue.execute({ action: 'add', organization: 'acme', groupId, contents: contents.map(readContent) });

  it('are decided and stored together, in order', async () => {
    const first = add(1, 'a.example');
    const others = [add(1, 'b.example'), add(2, 'b.example', 'c.example'), add(2, 'c.example')];
    open();
    expect((await first).result).toMatchObject([{ result: 'added' }]);
    expect((await Promise.all(others)).map(({ result }) => result)).toMatchObject([
      [{ result: 'added' }],
      [{ result: 'moved', movedFrom: 1 }, { result: 'added' }],
      [{ result: 'unchanged' }],
    ]);
    expect(stored).toEqual([1, 3]);
  });

  it('are rejected if they have waited too long', async () => {
    const now = performance.now();
    const [first, second] = [add(1, 'a.example'), add(1, 'b.example')];
    jest.spyOn(performance, 'now').mockReturnValue(now + 10_000);
    const third = add(1, 'c.example');
    open();
    expect((await first).result).toMatchObject([{ result: 'added' }]);
    await expect(second).rejects.toThrow(TooManyRequests);
    expect((await third).result).toMatchObject([{ result: 'added' }]);
  });

  it('are rejected by the quota one by one, without effect on later changes', async () => {
    eventsLeft = 4;
    const first = add(1, 'a.example');
    const others = [
      add(1, 'b.example', 'c.example'),
      add(2, 'b.example', 'd.example'),
      add(1, 'b.example'),
      add(3, 'e.example', 'f.example'),
      add(2, 'd.example'),
    ];
    open();
    expect((await first).result).toMatchObject([{ result: 'added' }]);
    const [two, tooMany, none, tooManyToo, one] = await Promise.allSettled(others);
    expect(two).toMatchObject({ status: 'fulfilled', value: { result: [{ result: 'added' }, { result: 'added' }] } });
    for (const refused of [tooMany, tooManyToo])
      expect(refused).toMatchObject({ status: 'rejected', reason: expect.any(TooManyRequests) });
    expect(none).toMatchObject({ status: 'fulfilled', value: { result: [{ result: 'unchanged' }] } });
    // Not "moved": the request that would have moved the asset was rejected.
    expect(one).toMatchObject({ status: 'fulfilled', value: { result: [{ result: 'added' }] } });
    expect(eventsLeft).toBe(0);
    expect(stored).toEqual([1, 3]);
  });

  it('are charged only for the stored events if an append fails half-way', async () => {
    [eventsLeft, appends] = [1_000, 1];
    open();
    const contents = Array.from({ length: 600 }, (_, n) => `${n}.example`);
    await expect(add(1, ...contents)).rejects.toThrow(Unavailable);
    expect(stored).toEqual([250]);
    expect(eventsLeft).toBe(750);
    // An event of a member takes 100 to 400 bytes.
    expect(1_000_000 - bytesLeft).toBeGreaterThan(250 * 100);
    expect(1_000_000 - bytesLeft).toBeLessThan(250 * 400);
  });

  it('are charged for the bytes of their events, and rejected if fewer bytes are left', async () => {
    bytesLeft = 400;
    open();
    expect((await add(1, 'a.example')).result).toMatchObject([{ result: 'added' }]);
    expect(bytesLeft).toBeLessThan(300);
    await expect(add(1, 'b.example', 'c.example')).rejects.toThrow(TooManyRequests);
    expect(stored).toEqual([1]);
  });

  it('fail together if a dependency is unavailable', async () => {
    const waiting = [add(1, 'a.example'), add(1, 'b.example')];
    open(new Unavailable('The projector is unavailable'));
    for (const outcome of await Promise.allSettled(waiting))
      expect((outcome as PromiseRejectedResult).reason).toBeInstanceOf(Unavailable);
    expect(stored).toEqual([]);
  });
});
