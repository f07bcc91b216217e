import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { assembleList, type Page } from '../../src/asset-groups/assemble-list.js';
import { OneLane } from '../../src/asset-groups/one-lane.js';
import { Unavailable } from '../../src/errors.js';

interface Group {
  readonly id: number;
  readonly name: string;
  readonly assetCount: number;
}

const group = (id: number, name = `Group ${id}`, assetCount = id % 3): Group => ({ id, name, assetCount });

const inPages = (groups: readonly Group[], size: number): Page[] =>
  Array.from({ length: Math.ceil(groups.length / size) }, (_, page) => {
    const own = groups.slice(page * size, (page + 1) * size);
    return { last: own.at(-1)!.id, json: JSON.stringify(own).slice(1, -1) };
  });

const assembled = async (
  pages: readonly Page[],
  said: readonly [number, string | undefined][] = [],
  assets: readonly [number, number][] = [],
): Promise<Group[]> => {
  const json = await assembleList({ pages, assets: new Map(assets) }, new Map(said));
  return (JSON.parse(json.toString()) as { groups: Group[] }).groups;
};

describe('The list of groups', () => {
  it('is empty without any', async () => {
    expect(await assembled([])).toEqual([]);
    expect(await assembled(inPages([group(1)], 1), [[1, undefined]])).toEqual([]);
  });

  it('is the model’s, with what was renamed, deleted and created since, in order of number', async () => {
    const model = [1, 2, 3, 5, 6, 8, 9].map((id) => group(id));
    const said: [number, string | undefined][] = [
      [12, 'After all'],
      [8, 'Renamed'],
      [7, 'Between two pages'],
      [5, undefined],
      [4, 'Between two groups'],
      [11, undefined],
      [10, 'First after'],
    ];
    const counts: [number, number][] = [
      [7, 70],
      [12, 120],
    ];
    for (const size of [1, 2, 3, 100])
      expect(await assembled(inPages(model, size), said, counts)).toEqual([
        group(1),
        group(2),
        group(3),
        group(4, 'Between two groups', 0),
        group(6),
        group(7, 'Between two pages', 70),
        group(8, 'Renamed', 2),
        group(9),
        group(10, 'First after', 0),
        group(12, 'After all', 120),
      ]);
  });

  it('leaves turns to other requests, however long it is', async () => {
    const pages = inPages(
      Array.from({ length: 100_000 }, (_, n) => group(n + 1)),
      1_000,
    );
    let turns = 0;
    let done = false;
    const others = (async () => {
      while (!done) {
        await nextTurn();
        turns += 1;
      }
    })();
    const everything = new Map(Array.from({ length: 100_000 }, (_, n): [number, string] => [n + 1, `Renamed ${n}`]));
    const json = await assembleList({ pages, assets: new Map() }, everything);
    done = true;
    await others;
    expect(json.length).toBeGreaterThan(4_000_000);
    expect(turns).toBeGreaterThanOrEqual(100);
  });
});

describe('Long lists', () => {
  it('are read one at a time, and refused where too many wait', async () => {
    const lane = new OneLane(2);
    let reading = 0;
    const read = async (): Promise<number> => {
      reading += 1;
      await nextTurn();
      return reading--;
    };
    const first = lane.run(read);
    await nextTurn();
    const others = [lane.run(read), lane.run(read)];
    await expect(lane.run(read)).rejects.toThrow(Unavailable);
    expect(await Promise.all([first, ...others])).toEqual([1, 1, 1]);
    await expect(lane.run(() => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    expect(await lane.run(read)).toBe(1);
  });
});
