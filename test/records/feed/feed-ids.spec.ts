import { describe, expect, it } from '@jest/globals';
import { Gone } from '../../../src/errors.js';
import { BLOCK_BYTES, SealedBlocks } from '../../../src/http/sealed-blocks.js';
import { FeedIds } from '../../../src/records/feed/feed-ids.js';

describe('A feed id with an impossible position', () => {
  it.each([-1n, BigInt(Number.MAX_SAFE_INTEGER) + 1n])('is rejected with Gone (position %d)', (position) => {
    const block = Buffer.alloc(BLOCK_BYTES);
    block.writeBigInt64BE(position);
    const [id] = new SealedBlocks('feed of in-memory-log').seal(block);
    expect(() => new FeedIds('in-memory-log').read(id!)).toThrow(Gone);
  });
});
