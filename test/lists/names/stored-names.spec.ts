import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import type { BuiltLists } from '../../../src/lists/built-lists.js';
import { LIST_NAMES } from '../../../src/lists/built-lists.js';
import type { FollowedLists } from '../../../src/lists/followed-lists.js';
import { MetaMaskLists } from '../../../src/lists/metamask/metamask-lists.js';
import { ADD_NAMES, ListNames, NAMES_BETWEEN, NAMES_OF } from '../../../src/lists/names/list-names.js';
import { ListPublishing } from '../../../src/lists/publishing.js';
import { SearchHashes, SearchHashesHandler } from '../../../src/lists/safe-browsing/read-safe-browsing.js';
import { followLists, NotBuilt, ServedList } from '../../../src/lists/served-list.js';
import { createDatabase, type TestDatabase } from '../../support/postgres.js';
import { TestClock } from '../../support/test-clock.js';
import { listOf } from '../random-hashes.js';

/** More names than are stored between two versions of a first list. */
const MANY = 21_000;

let database: TestDatabase;
beforeEach(async () => {
  database = await createDatabase();
});
afterEach(() => database.drop());

const hashOf = (expression: string): Buffer => createHash('sha256').update(expression).digest().subarray(0, 8);

/** Lists of blocked hosts and, after `!`, of hosts that are not blocked. */
const built = (...expressions: readonly string[]): BuiltLists => {
  const byHash = new Map(expressions.map((each) => [hashOf(each).readBigUInt64BE(), each]));
  return {
    lists: new Map([['all-8b', listOf([...byHash.keys()])]]),
    covers: [],
    notCovered: [],
    unread: [],
    namesOf: (half, hashes) =>
      Promise.resolve(
        (half === 'ask' ? [] : hashes).flatMap((one) => {
          const expression = byHash.get(one.readBigUInt64BE());
          if (expression === undefined) return [];
          const exceptionHost = expression.startsWith('!') ? expression.slice(1, -1) : undefined;
          return [{ expression, exceptionHost, assetHash: '' }];
        }),
      ),
  };
};

const newProcess = (...builds: BuiltLists[]) => {
  const served = LIST_NAMES.map((name) => new ServedList(name));
  const follow = (): Promise<void> => followLists(database.pool, served);
  const build = (): Promise<BuiltLists | undefined> => Promise.resolve(builds.shift());
  const publishing = new ListPublishing(database.pool, served, follow, build, new Registry());
  const search = new SearchHashesHandler(database.pool, { lists: served } as unknown as FollowedLists);
  return { served, follow, publishing, search };
};

/** The expressions that clients find by the first four bytes of their hashes. */
const found = async (...expressions: string[]): Promise<string[]> => {
  const rows = await NAMES_BETWEEN.run(database.pool, {
    lowest: expressions.map((each) => Buffer.concat([hashOf(each).subarray(0, 4), Buffer.alloc(4)])),
    highest: expressions.map((each) => Buffer.concat([hashOf(each).subarray(0, 4), Buffer.alloc(4, 0xff)])),
    limit: 100,
  });
  return rows.map(({ expression }) => expression);
};

describe('The names of a list', () => {
  it('are stored before its version is published, also by a process that takes over a long list', async () => {
    const many = Array.from({ length: MANY }, (_, n) => `h${n}.example/`);
    const first = newProcess(built(...many));
    for (let round = 0; round < 3; round += 1) await first.publishing.round();
    // The names of a first list are stored in the order of their hashes.
    const last = Array.from({ length: 100 }, (_, n) => `new${n}.example/`).toSorted((a, b) =>
      Buffer.compare(hashOf(b), hashOf(a)),
    )[0]!;
    await newProcess(built(...many, last)).publishing.round();
    expect(await found(last)).toEqual([last]);
  }, 30_000);

  it('stay if a process that has lost the lease builds without them', async () => {
    const one = newProcess(built('a.example/'));
    await one.publishing.round();
    const { served } = one;
    const late = new ListNames(database.pool);
    await newProcess(built('a.example/', 'b.example/', '!c.b.example/')).publishing.round();
    // It has not published yet that the list has moved.
    await late.store(built('a.example/'), served);
    expect(await found('a.example/', 'b.example/')).toEqual(['a.example/']);
    expect(await NAMES_OF.run(database.pool, { hashes: hashOf('!c.b.example/'), isAsk: false })).toHaveLength(1);
    await late.unlistOthers(built('a.example/'));
    expect(await NAMES_OF.run(database.pool, { hashes: hashOf('!c.b.example/'), isAsk: false })).toEqual([]);
  });

  it('are unlisted once the version without them is published', async () => {
    const { publishing } = newProcess(built('a.example/', 'b.example/'), built('a.example/'));
    for (const names of [['a.example/', 'b.example/'], ['a.example/']]) {
      await publishing.round();
      expect((await found('a.example/', 'b.example/')).toSorted()).toEqual(names);
    }
  });

  it('are not found by a client before those of all exceptions are stored', async () => {
    const many = Array.from({ length: MANY }, (_, n) => `h${n}.example/`);
    const { follow, publishing, search } = newProcess(built(...many));
    const query = new SearchHashes({ prefixes: [hashOf('h1.example/').subarray(0, 4).toString('base64')] });
    await expect(search.execute(query)).rejects.toThrow(NotBuilt);
    await publishing.round();
    await expect(search.execute(query)).rejects.toThrow(NotBuilt);
    for (let round = 0; round < 2; round += 1) await publishing.round();
    await follow();
    expect((await search.execute(query)).fullHashes).toHaveLength(1);
  }, 30_000);

  it.each(['evil.example', 'good.evil.example', 'a.good.evil.example'])(
    'leave out a host if %s is not blocked, but not hosts with similar names',
    async (host) => {
      const names = ['evil.example/', 'vil.example/', 'x-evil.example/', 'il.example/', 'other.example/'];
      const rows = [`!${host}/`, ...names].map((expression) => ({
        hash: hashOf(expression),
        expression,
        exceptionHost: expression.startsWith('!') ? host : undefined,
        assetHash: '',
      }));
      await ADD_NAMES.runEach(database.pool, rows, { isAsk: false });
      expect((await found(...names)).toSorted()).toEqual(names.slice(1).toSorted());
    },
  );

  it('are read with one query for all versions, which requests at the same time share', async () => {
    const names = Array.from({ length: 6 }, (_, n) => `h${n}.example/`);
    const { served, follow, publishing } = newProcess(...names.map((_, n) => built(...names.slice(0, n + 1))));
    for (const _ of names) await publishing.round();
    await follow();
    let queries = 0;
    const counting = {
      query: (...sent: Parameters<typeof database.pool.query>) => {
        queries += 1;
        return database.pool.query(...sent);
      },
    } as unknown as typeof database.pool;
    const metamask = new MetaMaskLists(counting, new TestClock());
    const [all, , ask] = served;
    const bodies = await Promise.all([0, 0].map((second) => metamask.since(all!, ask!, second)));
    expect(queries).toBeLessThanOrEqual(3);
    const { data } = JSON.parse(bodies[0]!.toString()) as { data: { url: string; timestamp: number }[] };
    expect(data.map(({ url }) => `${url}/`)).toEqual(names);
    expect(new Set(data.map(({ timestamp }) => timestamp)).size).toBe(names.length);
    expect(bodies[1]).toEqual(bodies[0]);
  });
});
