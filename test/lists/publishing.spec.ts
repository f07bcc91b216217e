import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { type BuiltLists, GUARDS, LIST_NAMES } from '../../src/lists/built-lists.js';
import { ListPublishing, SourcesMissing } from '../../src/lists/publishing.js';
import { READ_LISTS } from '../../src/lists/list-versions.js';
import { followLists, ServedList } from '../../src/lists/served-list.js';
import { createDatabase, type TestDatabase } from '../support/postgres.js';
import { listOf } from './random-hashes.js';

const built = (...numbers: number[]): BuiltLists => ({
  lists: new Map([['all-8b', listOf(numbers.map(BigInt))]]),
  covers: [],
  notCovered: [],
  unread: [],
  namesOf: () => Promise.resolve({ names: [], changed: [] }),
});

let database: TestDatabase;
beforeEach(async () => {
  database = await createDatabase();
});
afterEach(() => database.drop());

type Built = BuiltLists | undefined;

const newPublishing = (builds: (Built | (() => Promise<Built>))[]) => {
  const served = LIST_NAMES.map((name) => new ServedList(name));
  const registry = new Registry();
  const publishing = new ListPublishing(
    database.pool,
    served,
    () => followLists(database.pool, served),
    async () => {
      const next = builds.shift();
      return typeof next === 'function' ? next() : next;
    },
    registry,
  );
  return { publishing, all: served[0]!, metrics: () => registry.metrics() };
};

describe('The publishing of lists', () => {
  it('stores a version only if something has changed', async () => {
    const { publishing, all, metrics } = newPublishing([undefined, built(1), undefined, built(1), built(1, 2)]);
    const versions: unknown[] = [];
    for (let round = 0; round < 5; round++) {
      await publishing.round();
      versions.push(all.current?.number);
    }
    expect(versions).toEqual([undefined, 1, 1, 1, 2]);
    expect(await metrics()).toContain('threat_protection_list_builds_total{outcome="stored"} 2');
  });

  it('stores its lists again if the stored versions are others, although nothing has changed', async () => {
    const [one, two] = [newPublishing([built(1, 2)]), newPublishing([built(1)])];
    await one.publishing.round();
    await two.publishing.round();
    await one.publishing.round();
    expect(one.all.current).toMatchObject({ number: 3, hashes: listOf([1n, 2n]) });
  });

  it.each([
    ['a changed hash', `update service.list_versions set hashes = set_byte(hashes, 3, 9) where name = 'all-8b'`],
    ['a missing version', `delete from service.list_versions where name = 'all-8b'`],
    ['a missing list', `delete from service.lists where name = 'all-8b'`],
  ])('stores the list whole again after %s by hand', async (_, damage) => {
    await newPublishing([built(1, 2)]).publishing.round();
    await database.pool.query(damage);
    const { publishing, all } = newPublishing([built(1, 2, 3), built(1, 2, 3, 4)]);
    for (let round = 0; round < 2; round++) {
      await publishing.round();
      expect(all.current!.hashes).toEqual(listOf([1n, 2n, 3n, 4n].slice(0, 3 + round)));
    }
    const reader = new ServedList('all-8b');
    const heads = await READ_LISTS.run(database.pool, {});
    await reader.follow(
      database.pool,
      heads.find(({ name }) => name === 'all-8b')!,
    );
    expect(reader.current).toEqual(all.current);
  });

  it('never stores a wrong list if two build at once', async () => {
    const [one, two] = [newPublishing([built(1), built(1, 2)]), newPublishing([built(3), built(3, 4)])];
    for (let round = 0; round < 6; round++) await Promise.all([one.publishing.round(), two.publishing.round()]);
    const { all, publishing } = newPublishing([built(5)]);
    await publishing.round();
    expect(all.current!.hashes).toEqual(listOf([5n]));
  });

  it('does not store what was built before another process published', async () => {
    const two = newPublishing([built(1, 2)]);
    const one = newPublishing([
      async () => {
        await two.publishing.round();
        return built(1);
      },
    ]);
    await one.publishing.round();
    expect(one.all.current!.hashes).toEqual(listOf([1n, 2n]));
    expect(await one.metrics()).toContain('threat_protection_list_builds_total{outcome="moved"} 1');
  });

  it.each([
    ['a source that they have', 'a'],
    ['a guard', GUARDS],
  ])('keeps lists for an hour if this process has not read %s', async (_, unread) => {
    await newPublishing([{ ...built(1, 2), covers: ['a'] }]).publishing.round();
    const { publishing, all } = newPublishing([{ ...built(1), unread: [unread, 'never-read'] }]);
    await expect(publishing.round()).rejects.toThrow(SourcesMissing);
    expect(all.current!.hashes).toEqual(listOf([1n, 2n]));
    await database.pool.query('update service.lists set checked_at = checked_at - 3600001');
    await publishing.round();
    expect(all.current!.hashes).toEqual(listOf([1n]));
  });

  it('leaves the lease to others if it lacks a source', async () => {
    await newPublishing([{ ...built(1, 2), covers: ['a'] }]).publishing.round();
    const served = LIST_NAMES.map((name) => new ServedList(name));
    const stop = new AbortController();
    const sleeps: number[] = [];
    const clock = {
      now: () => performance.now(),
      sleep: async (ms: number) => {
        sleeps.push(ms);
        if (ms === 10_000) stop.abort();
      },
    };
    const build = async (): Promise<BuiltLists> => ({ ...built(1), unread: ['a'] });
    const follow = () => followLists(database.pool, served);
    await new ListPublishing(database.pool, served, follow, build, new Registry(), undefined, clock).run(stop.signal);
    expect(sleeps.at(-1)).toBe(10_000);
    const { rows } = await database.pool.query(`select owner from read.projector_leases where lane = 'lists'`);
    expect(rows).toEqual([{ owner: '' }]);
  });

  it('goes on after a lease that could not be read or renewed, as while a database is restored', async () => {
    const served = LIST_NAMES.map((name) => new ServedList(name));
    const stop = new AbortController();
    const rename = (from: string, to: string) => database.pool.query(`alter table read.${from} rename to ${to}`);
    await rename('projector_leases', 'away');
    let [sleeps, builds] = [0, 0];
    const clock = {
      now: () => performance.now(),
      sleep: async () => {
        sleeps += 1;
        if (sleeps === 2) await rename('away', 'projector_leases');
        await setImmediate();
      },
    };
    const build = async (): Promise<BuiltLists> => {
      builds += 1;
      if (builds === 1) await rename('projector_leases', 'away');
      if (builds === 3) await rename('away', 'projector_leases').catch(() => {});
      if (builds === 10) stop.abort();
      return built(1);
    };
    const follow = () => followLists(database.pool, served);
    await new ListPublishing(database.pool, served, follow, build, new Registry(), undefined, clock).run(stop.signal);
    expect(builds).toBe(10);
  });

  const moved = async (ms: number): Promise<number> => {
    const { rows } = await database.pool.query(
      `update service.lists set cut_at = cut_at + ${ms} where name = 'all-8b' returning cut_at`,
    );
    return rows[0].cut_at;
  };

  it('signs what another process stored anew, because clients may have a later version of a lost database', async () => {
    await newPublishing([built(1)]).publishing.round();
    const restored = await moved(-100_000);
    const { publishing, all } = newPublishing([built(1)]);
    await publishing.round();
    expect(all.current!.number).toBe(1);
    expect(await moved(0)).toBeGreaterThanOrEqual(restored + 100_000);
  });

  it('stores no version with an earlier instant if the clock was set back', async () => {
    await newPublishing([built(1)]).publishing.round();
    const later = await moved(100_000);
    const { publishing, all } = newPublishing([built(1, 2)]);
    await publishing.round();
    const nextSecond = (Math.floor(later / 1_000) + 1) * 1_000;
    expect([all.current!.number, await moved(0)]).toEqual([2, nextSecond]);
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
    const follow = () => followLists(database.pool, served);
    const clock = { now: () => performance.now(), sleep: async () => {} };
    await new ListPublishing(database.pool, served, follow, build, new Registry(), undefined, clock).run(stop.signal);
    expect([calls, served[0]!.current?.number]).toEqual([2, 1]);
    const { rows } = await database.pool.query(`select owner from read.projector_leases where lane = 'lists'`);
    expect(rows).toEqual([{ owner: '' }]);
  });
});
