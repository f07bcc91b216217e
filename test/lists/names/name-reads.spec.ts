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

it('200 queries may wait, and those that many requests share wait besides', async () => {
  const reads = new NameReads({} as WatchPool);
  const ends: (() => void)[] = [];
  const statement = { run: (): Promise<string[]> => new Promise((resolve) => ends.push(() => resolve([]))) };
  const running = Array.from({ length: 1 + 200 }, () => reads.run(statement, {}));
  await expect(reads.run(statement, {})).rejects.toThrow('Too many requests for names of lists are waiting');
  const shared = reads.run(statement, {}, { isShared: true });
  for (const wait of [...running, shared]) {
    ends.shift()!();
    await wait;
  }
});
