import { expect, it } from '@jest/globals';
import { GetAssetHistory, GetAssetHistoryHandler } from '../../src/asset-check/get-asset-history.js';
import { TimeSlices } from '../../src/flow/turns.js';
import { RequestConcurrency } from '../../src/read-models/request-concurrency.js';

/** A dependency of which only these members are called. */
const fake = <Type>(members: object): Type => members as Type;

it('Requests that wait for the same history look into the lists once', async () => {
  let [looked, queried] = [0, 0];
  let end!: () => void;
  const held = new Promise<void>((resolve) => (end = resolve));
  const list = {
    check: () => ({ status: 'UNKNOWN' }),
    seenSince: async () => void (looked += 1),
  };
  const newest = async (): Promise<readonly never[]> => {
    queried += 1;
    await held;
    return [];
  };
  const handler = new GetAssetHistoryHandler(
    fake({ own: undefined, sources: [{ id: 'list', mode: 'ENFORCED', of: { kind: 'list', list } }] }),
    fake({ newest }),
    new RequestConcurrency(new TimeSlices()),
  );
  const ask = (content: string) => handler.execute(new GetAssetHistory('acme', content));
  // Two histories of an organization are read at a time.
  const first = ['a.example', 'b.example'].map(ask);
  const waiting = Array.from({ length: 20 }, () => ask('c.example'));
  end();
  await Promise.all(first);
  expect(new Set(await Promise.all(waiting)).size).toBe(1);
  expect([queried, looked]).toEqual([3, 3]);
});
