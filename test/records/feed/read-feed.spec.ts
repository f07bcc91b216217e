import type { WatchPool } from '../../../src/read-models/pools.js';
import { Checkpoints } from '../../../src/read-models/checkpoints/checkpoints.js';
import { describe, expect, it } from '@jest/globals';
import type { Pool, QueryConfig } from 'pg';
import { Gone } from '../../../src/errors.js';
import type { RecordsPool } from '../../../src/read-models/pools.js';
import { Replicas } from '../../../src/read-models/replicas/replicas.js';
import { BLOCK_BYTES, SealedBlocks } from '../../../src/http/sealed-blocks.js';
import { FeedIds } from '../../../src/records/feed/feed-id.js';
import type { FeedWatch } from '../../../src/records/feed/feed-watch.js';
import { ReadFeed, ReadFeedHandler } from '../../../src/records/feed/read-feed.js';
import type { FirstFill } from '../../../src/records/first-fill.js';
import { RecordQueries } from '../../../src/records/record-queries.js';
import { InMemoryEventLog } from '../../support/in-memory-event-log.js';

const EVENT = '0123abcd-0000-4000-8000-000000000000';
const LOG = new InMemoryEventLog([
  { position: 5n, stream: 'any', revision: 0n, id: EVENT, type: 'Any', data: {}, metadata: {}, recordedAt: 0 },
]);
const ID = (parked: number): string =>
  new FeedIds('in-memory-log').write([{ position: 5, event: EVENT.slice(0, 8), parked }])[0]!;

/** A server that has nothing new, and these events parked before the position asked for. */
const server = (name: string, parkedBefore: number, asked: string[]): RecordsPool => {
  const query = async (sent: string | QueryConfig) => {
    const statement = typeof sent === 'string' ? undefined : sent.name;
    if (statement?.startsWith('feed-') !== true) return { rows: [{ projection: 'records', position: 1, asOf: 1 }] };
    asked.push(name);
    return { rows: [{ asOf: 1, upTo: 10, parkedBefore, parkedToFirst: 0, parked: null, found: 0, position: null }] };
  };
  return { query, connect: async () => ({ query, release: () => {} }), end: async () => {} } as unknown as RecordsPool;
};

/** What a reader with this id is answered, and who was asked. */
const read = async (id: string, parkedOn: { replica: number; primary: number }): Promise<[unknown, string[]]> => {
  const asked: string[] = [];
  const primary = server('primary', parkedOn.primary, asked);
  const pool: Pool = server('replica', parkedOn.replica, asked);
  const checkpoints = new Checkpoints(primary as unknown as WatchPool);
  const replicas = new Replicas({ metrics: pool, records: pool }, checkpoints, 10_000);
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  const queries = new RecordQueries(primary, { done: async () => {} } as FirstFill, replicas);
  const handler = new ReadFeedHandler(queries, LOG, {} as FeedWatch);
  const query = new ReadFeed('acme', [1, 2, 3, 4], 10, id, 0, new AbortController().signal);
  try {
    const answer = await handler.execute(query).then(
      (answered) => answered.answer,
      (error: Error) => error.constructor,
    );
    return [answer, asked];
  } finally {
    await replicas.end();
  }
};

describe('A reader of the feed on a replica', () => {
  it('is answered there where it has the parked events that the reader has passed', async () => {
    expect(await read(ID(7), { replica: 7, primary: 0 })).toEqual(['[]', ['replica']]);
  });

  it('is answered by the primary where the replica has not got a retry of one, whose id is as good as before', async () => {
    expect(await read(ID(0), { replica: 7, primary: 0 })).toEqual(['[]', ['replica', 'primary']]);
  });

  it('starts again where the primary has other parked events too', async () => {
    expect(await read(ID(1), { replica: 7, primary: 0 })).toEqual([Gone, ['replica', 'primary']]);
  });
});

describe('A sealed id with a position that no log has', () => {
  it.each([-1n, BigInt(Number.MAX_SAFE_INTEGER) + 1n])('is Gone (position %d)', (position) => {
    const block = Buffer.alloc(BLOCK_BYTES);
    block.writeBigInt64BE(position);
    const [id] = new SealedBlocks('feed of in-memory-log').seal(block);
    expect(() => new FeedIds('in-memory-log').read(id!)).toThrow(Gone);
  });
});
