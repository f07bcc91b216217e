import { describe, expect, it } from '@jest/globals';
import { Invalid, TooManyRequests, Unavailable } from '../../src/errors.js';
import { CommandQueue, type Decided, type Loaded } from '../../src/event-log/command-queue.js';
import { WrongExpectedRevision } from '../../src/event-log/event-log.js';
import { InMemoryEventLog } from '../support/in-memory-event-log.js';

/** Creates a queue whose appends fail with these errors, one after the other, and then succeed. */
const queueWith = (...failures: Error[]) => {
  const quota = { left: 3, bytesLeft: 1_000 };
  const log = new InMemoryEventLog([], {
    fate: () => (failures[0] instanceof Unavailable ? failures[0] : (failures.shift() ?? 'answered')),
  });
  const queue = new CommandQueue<{ organization: string; events: number }, Loaded, Decided>(
    log,
    {
      name: 'things',
      maxCommands: 10,
      maxWaiting: 100,
      stream: (organization) => organization,
      load: async () => ({ revision: BigInt(log.events.length) - 1n, now: 0 }),
      decide: (_, { events }) => ({
        events: Array.from({ length: events }, () => ({ type: 'AssetGroupDeleted', data: {} }) as never),
      }),
      apply: () => {},
    },
    {
      refuser:
        async () =>
        ({ events, bytes }) =>
          events > quota.left || bytes > quota.bytesLeft ? new TooManyRequests(60, 'The quota is used up') : undefined,
      charge: (_, { events, bytes }) => void ((quota.left -= events), (quota.bytesLeft -= bytes)),
      refund: (_, { events, bytes }) => void ((quota.left += events), (quota.bytesLeft += bytes)),
    },
  );
  const execute = (events: number, organization = 'acme') => queue.execute({ organization, events });
  return { execute, quota };
};

describe('The queue of an organization', () => {
  it('rejects commands while 100 wait for the running one, and does not affect other organizations', async () => {
    const { execute } = queueWith();
    const all = Array.from({ length: 150 }, () => execute(0));
    await execute(0, 'other');
    const rejected = (await Promise.allSettled(all)).filter(({ status }) => status === 'rejected');
    expect(rejected).toHaveLength(150 - 1 - 100);
    const message = 'Too many changes of the things of this organization are waiting; try again';
    await expect(all.at(-1)).rejects.toThrow(new TooManyRequests(1, message));
    await execute(0);
  });
});

describe('The quota of commands', () => {
  it.each([
    ['is rejected', new Invalid('The store rejects the append')],
    ['gets no response', new Unavailable('The store is unavailable')],
  ])('is not charged for an append that %s', async (_, failure) => {
    const { execute, quota } = queueWith(failure);
    await expect(execute(2)).rejects.toBe(failure);
    expect(quota).toEqual({ left: 3, bytesLeft: 1_000 });
  });

  it('is charged for the bytes of the stored events, and rejects the command that exceeds them', async () => {
    const { execute, quota } = queueWith();
    // An event without data and metadata.
    quota.bytesLeft = 2 * '[{},{}]'.length;
    await execute(1);
    expect(quota.bytesLeft).toBe('[{},{}]'.length);
    await expect(execute(2)).rejects.toThrow(TooManyRequests);
    await execute(1);
    expect(quota).toEqual({ left: 1, bytesLeft: 0 });
  });

  it('is charged once for commands that are decided again after a conflict', async () => {
    const { execute, quota } = queueWith(new WrongExpectedRevision('acme', 'no-stream', 0n));
    await execute(2);
    expect(quota.left).toBe(1);
  });

  it('rejects only the command of a batch that exceeds the quota', async () => {
    const { execute, quota } = queueWith();
    const outcomes = await Promise.allSettled([execute(1), execute(1), execute(5), execute(1)]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
    expect(quota.left).toBe(0);
  });
});
