import { describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { readTail, type StreamTail } from '../../src/asset-groups/load-groups.js';
import { assetGroupsStream } from '../../src/events/streams.js';
import { InMemoryEventLog } from '../support/in-memory-event-log.js';

const STREAM = assetGroupsStream('acme');

const createdData = (groupId: number, organization = 'acme') => ({
  organization,
  groupId,
  name: `Group ${groupId}`,
  createdAt: '2026-01-01T00:00:00.000Z',
});

/** Creates groups with the ids `from` to `to` in a log. */
const create = async (log: InMemoryEventLog, from: number, to: number): Promise<void> => {
  for (let n = from; n <= to; n += 1) {
    const event = { id: randomUUID(), type: 'AssetGroupCreated', data: createdData(n), metadata: {} };
    await log.append(STREAM, 'any', [event]);
  }
};

const ids = (tail: StreamTail): number[] => [...tail.groups.nameById.keys()];
const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, n) => from + n);

describe('The tail of a stream', () => {
  it('contains all events after the read model, across several pages', async () => {
    const log = new InMemoryEventLog();
    await create(log, 1, 2_500);
    expect(ids(await readTail(log, 'acme', -1n))).toEqual(range(1, 2_500));
    expect(ids(await readTail(log, 'acme', 2_399n))).toEqual(range(2_401, 2_500));
  });

  it('is not read if the read model is too far behind', async () => {
    const log = new InMemoryEventLog();
    await create(log, 1, 2_500);
    await expect(readTail(log, 'acme', -1n, 2_000)).rejects.toThrow('too far behind');
    expect((await readTail(log, 'acme', 499n, 2_001)).revision).toBe(2_499n);
  });

  it('has the revision up to which the stream was read, even without events', async () => {
    const log = new InMemoryEventLog();
    await create(log, 1, 3);
    expect((await readTail(log, 'acme', 0n)).revision).toBe(2n);
    expect((await readTail(log, 'acme', 2n)).revision).toBe(2n);
    expect((await readTail(log, 'other', -1n)).revision).toBe(-1n);
  });

  it('ignores events that the projector would park', async () => {
    const log = new InMemoryEventLog();
    const wrong = [
      { type: 'AssetGroupCreated', data: { organization: 'acme', groupId: 'one' } },
      { type: 'AssetGroupCreated', data: createdData(7, 'other') },
      { type: 'SomethingElse', data: {} },
    ];
    for (const { type, data } of wrong)
      await log.append(STREAM, 'any', [{ id: randomUUID(), type, data, metadata: {} }]);
    await create(log, 1, 1);
    const tail = await readTail(log, 'acme', -1n);
    expect([ids(tail), tail.revision]).toEqual([[1], 3n]);
  });
});
