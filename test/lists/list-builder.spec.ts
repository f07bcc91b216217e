import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { type BuiltLists, LIST_NAMES } from '../../src/lists/built-lists.js';
import { ListBuilder } from '../../src/lists/list-builder.js';
import { ServedList } from '../../src/lists/served-list.js';
import { createDatabase, type TestDatabase } from '../support/postgres.js';
import { listOf } from './random-hashes.js';

const built = (...numbers: number[]): BuiltLists => ({
  lists: new Map([['all-8b', listOf(numbers.map(BigInt))]]),
  covers: [],
  notCovered: [],
});

let database: TestDatabase;
beforeEach(async () => {
  database = await createDatabase();
});
afterEach(() => database.drop());

const newBuilder = (builds: (BuiltLists | undefined)[]) => {
  const served = LIST_NAMES.map((name) => new ServedList(name));
  const registry = new Registry();
  const builder = new ListBuilder(database.pool, served, async () => builds.shift(), registry);
  return { builder, all: served[0]!, metrics: () => registry.metrics() };
};

describe('The builder of lists', () => {
  it('stores a version only if something has changed', async () => {
    const { builder, all, metrics } = newBuilder([undefined, built(1), undefined, built(1), built(1, 2)]);
    const versions: unknown[] = [];
    for (let round = 0; round < 5; round++) {
      await builder.round();
      versions.push(all.current?.number);
    }
    expect(versions).toEqual([undefined, 1, 1, 1, 2]);
    expect(await metrics()).toContain('threat_protection_list_builds_total{outcome="stored"} 2');
  });

  it('stores its lists again if the stored versions are others, although nothing has changed', async () => {
    const [one, two] = [newBuilder([built(1, 2)]), newBuilder([built(1)])];
    await one.builder.round();
    await two.builder.round();
    await one.builder.round();
    expect(one.all.current).toMatchObject({ number: 3, hashes: listOf([1n, 2n]) });
  });

  it('never stores a wrong list if two build at once', async () => {
    const [one, two] = [newBuilder([built(1), built(1, 2)]), newBuilder([built(3), built(3, 4)])];
    for (let round = 0; round < 6; round++) await Promise.all([one.builder.round(), two.builder.round()]);
    const { all, builder } = newBuilder([built(5)]);
    await builder.round();
    expect(all.current!.hashes).toEqual(listOf([5n]));
  });

  it('goes on after a failed build, until it is stopped', async () => {
    const served = LIST_NAMES.map((name) => new ServedList(name));
    const stop = new AbortController();
    let calls = 0;
    const build = async (): Promise<BuiltLists> => {
      if (++calls === 1) throw new Error('no');
      stop.abort();
      return built(1);
    };
    const clock = { now: () => performance.now(), sleep: async () => {} };
    await new ListBuilder(database.pool, served, build, new Registry(), undefined, clock).run(stop.signal);
    expect([calls, served[0]!.current?.number]).toEqual([2, 1]);
    const { rows } = await database.pool.query(`select owner from read.projector_leases where lane = 'lists'`);
    expect(rows).toEqual([{ owner: '' }]);
  });
});
