import { createHash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import type { BuiltLists } from '../../../src/lists/built-lists.js';
import { LIST_NAMES } from '../../../src/lists/built-lists.js';
import type { FollowedLists } from '../../../src/lists/followed-lists.js';
import { MetaMaskLists } from '../../../src/lists/metamask/metamask-lists.js';
import { ListNames } from '../../../src/lists/names/list-names.js';
import { NameReads } from '../../../src/lists/names/name-reads.js';
import { ADD_NAMES, NAMES_BETWEEN, NAMES_OF } from '../../../src/lists/names/name-statements.js';
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
      Promise.resolve({
        names: (half === 'ask' ? [] : hashes).flatMap((one) => {
          const expression = byHash.get(one.readBigUInt64BE());
          if (expression === undefined) return [];
          const exceptionHost = expression.startsWith('!') ? expression.slice(1, -1) : undefined;
          return [{ expression, exceptionHost, assetHash: '' }];
        }),
        changed: [],
      }),
  };
};

const newProcess = (...builds: BuiltLists[]) => {
  const served = LIST_NAMES.map((name) => new ServedList(name));
  const follow = (): Promise<void> => followLists(database.pool, served);
  const build = (): Promise<BuiltLists | undefined> => Promise.resolve(builds.shift());
  const publishing = new ListPublishing(database.pool, served, follow, build, new Registry());
  const search = new SearchHashesHandler(new NameReads(database.pool), { lists: served } as unknown as FollowedLists);
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

  it('stay while a process that has lost the lease has built without them, and has not published', async () => {
    const { publishing, served } = newProcess(built('a.example/'));
    await publishing.round();
    await newProcess(built('a.example/', 'b.example/', '!c.b.example/')).publishing.round();
    await new ListNames(database.pool).store(built('a.example/'), served);
    expect(await found('a.example/', 'b.example/')).toEqual(['a.example/']);
    expect(await NAMES_OF.run(database.pool, { hashes: hashOf('!c.b.example/'), isAsk: false })).toHaveLength(1);
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

  describe('for MetaMask', () => {
    /** Publishes the lists one after the other. */
    const publish = async (...lists: BuiltLists[]) => {
      const { served, follow, publishing } = newProcess(...lists);
      // The names of a long first list take two rounds more.
      for (let n = 0; n < lists.length + 2; n += 1) await publishing.round();
      await follow();
      let queries = 0;
      const counting = {
        query: (...sent: Parameters<typeof database.pool.query>) => {
          queries += 1;
          return database.pool.query(...sent);
        },
      } as unknown as typeof database.pool;
      const clock = new TestClock();
      const metamask = new MetaMaskLists(new NameReads(counting), clock);
      const whole = (): Promise<Buffer> => metamask.whole(served[0]!, served[2]!);
      const since = async (second: number): Promise<{ url: string; timestamp: number; targetList: string }[]> =>
        JSON.parse(gunzipSync(await metamask.since(served[0]!, served[2]!, second)).toString()).data;
      return { since, whole, clock, queries: () => queries };
    };

    it('are read with one query for all versions, which requests at the same time share', async () => {
      const names = Array.from({ length: 6 }, (_, n) => `h${n}.example/`);
      const { since, queries } = await publish(...names.map((_, n) => built(...names.slice(0, n + 1))));
      const [data, again] = await Promise.all([since(0), since(1)]);
      expect(queries()).toBe(3);
      expect(data.map(({ url }) => `${url}/`)).toEqual(names);
      expect(new Set(data.map(({ timestamp }) => timestamp)).size).toBe(names.length);
      expect(again).toEqual(data);
    });

    it('are read for a whole list at most once in five minutes', async () => {
      const { whole, clock, queries } = await publish(built('a.example/'));
      const [one, two] = await Promise.all([whole(), whole()]);
      expect([queries(), one === two]).toEqual([1, true]);
      await clock.advance(299_000, 1_000);
      expect(await whole()).toBe(one);
      await clock.advance(2_000, 1_000);
      await whole();
      expect(queries()).toBe(2);
    });

    it('are reached by a client also beyond versions without names', async () => {
      const unnamed = Array.from({ length: 20_001 }, (_, n) => `ADDRESS:${n}`);
      const some = {
        ...built('first.example/', ...unnamed),
        namesOf: () => Promise.resolve({ names: [], changed: [] }),
      };
      const { since } = await publish(
        built('first.example/'),
        some,
        built('first.example/', ...unnamed, 'last.example/'),
      );
      const urls: string[] = [];
      let second = 0;
      for (let n = 0; n < 4; n += 1)
        for (const { url, timestamp } of await since(second)) {
          urls.push(url);
          second = Math.max(second, timestamp);
        }
      expect(urls).toEqual(['first.example', 'nothing.invalid', 'last.example']);
    }, 30_000);

    it('come together if two lists of one publication have them, however many they are', async () => {
      const hosts = Array.from({ length: 20_001 }, (_, n) => `h${n}.example/`);
      const lists = built(...hosts);
      const ask = hashOf('h1.example/*');
      const named = { expression: 'h1.example/*', exceptionHost: 'h1.example', assetHash: '' };
      const { since } = await publish({
        ...lists,
        lists: new Map([...lists.lists, ['ask-8b' as const, ask]]),
        namesOf: (half, hashes) =>
          half === 'ask' ? Promise.resolve({ names: [named], changed: [] }) : lists.namesOf(half, hashes),
      });
      const data = await since(0);
      expect(data).toHaveLength(hosts.length + 1);
      expect(data.filter(({ targetList }) => targetList.endsWith('allowlist'))).toMatchObject([{ url: 'h1.example' }]);
    }, 30_000);
  });
});
