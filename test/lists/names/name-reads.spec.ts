import { expect, it } from '@jest/globals';
import { NameReads } from '../../../src/lists/names/name-reads.js';
import type { WatchPool } from '../../../src/read-models/pools.js';

it('The queries for names run one after the other, also after one that failed', async () => {
  const reads = new NameReads({} as WatchPool);
  const ends: (() => void)[] = [];
  const statement = {
    run: (_: WatchPool, fails: boolean): Promise<string[]> =>
      new Promise((resolve, reject) => ends.push(() => (fails ? reject(new Error('lost')) : resolve(['a'])))),
  };
  const [first, second, third] = [reads.run(statement, false), reads.run(statement, true), reads.run(statement, false)];
  expect(ends).toHaveLength(1);
  ends[0]!();
  expect(await first).toEqual(['a']);
  expect(ends).toHaveLength(2);
  ends[1]!();
  await expect(second).rejects.toThrow('lost');
  expect(ends).toHaveLength(3);
  ends[2]!();
  expect(await third).toEqual(['a']);
});
