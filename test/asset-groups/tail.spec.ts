import { describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { type StreamTail, StreamTailCache } from '../../src/asset-groups/tail.js';
import type { RecordedEvent } from '../../src/event-log/event-log.js';
import { assetGroupsStream } from '../../src/events/streams.js';
import { MemoryLog } from './memory-log.js';

const STREAM = assetGroupsStream('acme');

class CountingLog extends MemoryLog {
  readonly read: RecordedEvent[] = [];

  override async readStream(stream: string, from: bigint, limit: number): Promise<RecordedEvent[]> {
    const page = await super.readStream(stream, from, limit);
    this.read.push(...page);
    return page;
  }
}

const createdData = (groupId: number, organization = 'acme') => ({
  organization,
  groupId,
  name: `Group ${groupId}`,
  createdAt: '2026-01-01T00:00:00.000Z',
});

/** Numbers of groups in a log, from one on. */
const create = async (log: MemoryLog, from: number, to: number): Promise<void> => {
  for (let n = from; n <= to; n += 1) {
    const event = { id: randomUUID(), type: 'AssetGroupCreated', data: createdData(n), metadata: {} };
    await log.append(STREAM, 'any', [event]);
  }
};

const ids = (tail: StreamTail): number[] => [...tail.state.nameById.keys()];
const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, n) => from + n);
const at = (revision: bigint) => () => Promise.resolve({ revision });

describe('the tail of a stream', () => {
  it('is everything after the model, however long', async () => {
    const log = new MemoryLog();
    await create(log, 1, 2_500);
    const tails = new StreamTailCache(log);
    expect(await tails.read('acme', at(-1n), (_, tail) => ids(tail))).toEqual(range(1, 2_500));
    expect(await new StreamTailCache(log).read('acme', at(2_399n), (_, tail) => ids(tail))).toEqual(
      range(2_401, 2_500),
    );
  });

  it('is read once, and then only what is new', async () => {
    const log = new CountingLog();
    const tails = new StreamTailCache(log);
    await create(log, 1, 30);
    await tails.read('acme', at(-1n), () => {});
    await create(log, 31, 33);
    expect(await tails.read('acme', at(-1n), (_, tail) => ids(tail))).toEqual(range(1, 33));
    expect(log.read).toHaveLength(33);
  });

  it('lets go of what the model has, once that is much', async () => {
    const log = new MemoryLog();
    const tails = new StreamTailCache(log);
    await create(log, 1, 1_000);
    await tails.read('acme', at(-1n), () => {});
    expect(await tails.read('acme', at(989n), (_, tail) => ids(tail))).toEqual(range(991, 1_000));
  });

  it('is read again from where the model is when that has fallen back', async () => {
    const log = new MemoryLog();
    const tails = new StreamTailCache(log);
    await create(log, 1, 20);
    await tails.read('acme', at(14n), () => {});
    expect(await tails.read('acme', at(4n), (_, tail) => ids(tail))).toEqual(range(6, 20));
  });

  it('still holds what a slow reader with an older model needs when another one has let go of it', async () => {
    const log = new MemoryLog();
    const tails = new StreamTailCache(log);
    await create(log, 1, 1_000);
    await tails.read('acme', at(-1n), () => {});
    let answer: (model: { revision: bigint }) => void;
    const slow = tails.read(
      'acme',
      () => new Promise<{ revision: bigint }>((resolve) => (answer = resolve)),
      (_, tail) => ids(tail),
    );
    await tails.read('acme', at(999n), () => {});
    answer!({ revision: 499n });
    expect(await slow).toEqual(expect.arrayContaining(range(501, 1_000)));
  });

  it('reads on where the model is ahead of what the log has given so far', async () => {
    const log = new MemoryLog();
    const tails = new StreamTailCache(log);
    await create(log, 1, 5);
    await tails.read('acme', at(-1n), () => {});
    const read = tails.read(
      'acme',
      async () => {
        // The log has been read by now, and another instance writes and projects.
        for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
        await create(log, 6, 8);
        return { revision: 7n };
      },
      (_, tail) => tail.revision,
    );
    expect(await read).toBe(7n);
  });

  it('passes over what the projector would park', async () => {
    const log = new MemoryLog();
    const wrong = [
      { type: 'AssetGroupCreated', data: { organization: 'acme', groupId: 'one' } },
      { type: 'AssetGroupCreated', data: createdData(7, 'other') },
      { type: 'SomethingElse', data: {} },
    ];
    for (const { type, data } of wrong)
      await log.append(STREAM, 'any', [{ id: randomUUID(), type, data, metadata: {} }]);
    await create(log, 1, 1);
    const read = await new StreamTailCache(log).read('acme', at(-1n), (_, tail) => [ids(tail), tail.revision]);
    expect(read).toEqual([[1], 3n]);
  });
});
