import type { WatchPool } from '../../../src/read-models/pools.js';
import { Checkpoints } from '../../../src/read-models/checkpoints.js';
import { describe, expect, it } from '@jest/globals';
import type { Pool, QueryConfig } from 'pg';
import { Gone } from '../../../src/errors.js';
import type { RecordsPool } from '../../../src/read-models/pools.js';
import { Replicas } from '../../../src/read-models/replicas.js';
import { BLOCK_BYTES, SealedBlocks } from '../../../src/http/sealed-blocks.js';
import { FeedIds } from '../../../src/records/feed/feed-ids.js';
import type { FeedWatch } from '../../../src/records/feed/feed-watch.js';
import { ReadFeed, ReadFeedHandler } from '../../../src/records/feed/read-feed.js';
import { type InitialBackfill, RecordQueries } from '../../../src/records/record-queries.js';
import { InMemoryEventLog } from '../../support/in-memory-event-log.js';

const EVENT = '0123abcd-0000-4000-8000-000000000000';
const LOG = new InMemoryEventLog([
  { position: 5n, stream: 'any', revision: 0n, id: EVENT, type: 'Any', data: {}, metadata: {}, recordedAt: 0 },
]);
const ID = (parked: number): string =>
  new FeedIds('in-memory-log').write([{ position: 5, event: EVENT.slice(0, 8), parked }])[0]!;

/** A server without new elements and with these parked events before the requested position. */
const server = (name: string, parkedBefore: number, queriedServers: string[]): RecordsPool => {
  const query = async (sent: string | QueryConfig) => {
    const statement = typeof sent === 'string' ? undefined : sent.name;
    if (statement?.startsWith('feed-') !== true) return { rows: [{ projection: 'records', position: 1, asOf: 1 }] };
    queriedServers.push(name);
    const noParked = { parkedByVerdict: null, parkedToFirst: 0, parkedFirst: null, parked: null };
    const moment = { asOf: 1, upTo: 10, parkedBefore, ...noParked };
    return { rows: [{ moment, element: null }] };
  };
  return { query, connect: async () => ({ query, release: () => {} }), end: async () => {} } as unknown as RecordsPool;
};

/** The result for a client with this id, and the servers that were queried. */
const read = async (id: string, parkedOn: { replica: number; primary: number }): Promise<[unknown, string[]]> => {
  const queriedServers: string[] = [];
  const primary = server('primary', parkedOn.primary, queriedServers);
  const pool: Pool = server('replica', parkedOn.replica, queriedServers);
  const checkpoints = new Checkpoints(primary as unknown as WatchPool);
  const replicas = new Replicas({ metrics: pool, records: pool }, checkpoints, 10_000);
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  const queries = new RecordQueries(primary, { requireComplete: async () => {} } as InitialBackfill, replicas);
  const handler = new ReadFeedHandler(queries, LOG, {} as FeedWatch);
  const query = new ReadFeed('acme', [1, 2, 3, 4], 10, id, 0, new AbortController().signal);
  try {
    const answer = await handler.execute(query).then(
      (answered) => answered.result,
      (error: Error) => error.constructor,
    );
    return [answer, queriedServers];
  } finally {
    await replicas.end();
  }
};

describe('Reading the feed from a replica', () => {
  it('uses the replica if it has the same parked events before the position of the client', async () => {
    expect(await read(ID(7), { replica: 7, primary: 0 })).toEqual(['[]', ['replica']]);
  });

  it('uses the primary if the replica does not have a retry of a parked event yet, and accepts the id', async () => {
    expect(await read(ID(0), { replica: 7, primary: 0 })).toEqual(['[]', ['replica', 'primary']]);
  });

  it('rejects the id with Gone if the parked events on the primary have changed too', async () => {
    expect(await read(ID(1), { replica: 7, primary: 0 })).toEqual([Gone, ['replica', 'primary']]);
  });
});

describe('A feed id with an impossible position', () => {
  it.each([-1n, BigInt(Number.MAX_SAFE_INTEGER) + 1n])('is rejected with Gone (position %d)', (position) => {
    const block = Buffer.alloc(BLOCK_BYTES);
    block.writeBigInt64BE(position);
    const [id] = new SealedBlocks('feed of in-memory-log').seal(block);
    expect(() => new FeedIds('in-memory-log').read(id!)).toThrow(Gone);
  });
});
