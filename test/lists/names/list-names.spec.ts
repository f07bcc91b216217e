import { hash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type BuiltLists, LIST_NAMES } from '../../../src/lists/built-lists.js';
import type { Half } from '../../../src/lists/expressions.js';
import type { StoredName } from '../../../src/lists/names/expression-names.js';
import { ADD_LISTS, READ_LISTS } from '../../../src/lists/list-versions.js';
import { ListNames } from '../../../src/lists/names/list-names.js';
import { ADD_NAMES, forgetNames, NAMES_BETWEEN, OLD_NAMES } from '../../../src/lists/names/name-statements.js';
import { deleteExpired } from '../../../src/read-models/expiry.js';
import { ServedList } from '../../../src/lists/served-list.js';
import { eventually } from '../../support/eventually.js';
import { createDatabase, type TestDatabase } from '../../support/postgres.js';
import { TestClock } from '../../support/test-clock.js';

let database: TestDatabase;
const served: readonly ServedList[] = LIST_NAMES.map((name) => new ServedList(name));
beforeEach(async () => {
  database = await createDatabase();
  await ADD_LISTS.run(database.pool, { names: ['all-8b'], sha256: Buffer.alloc(32) });
});
afterEach(() => database.drop());

const hashOf = (expression: string): Buffer => hash('sha256', expression, 'buffer').subarray(0, 8);
const listOf = (expressions: readonly string[]): Buffer =>
  Buffer.concat(expressions.map(hashOf).sort((one, other) => Buffer.compare(one, other)));

const ofList = (expression: string): StoredName => ({ expression, exceptionHost: undefined, assetHash: '' });
const ofOwn = (expression: string, assetHash: string): StoredName => ({ ...ofList(expression), assetHash });
const exception = (expression: string, exceptionHost: string): StoredName => ({
  expression,
  exceptionHost,
  assetHash: '',
});

interface Names {
  readonly list?: readonly StoredName[];
  readonly ask?: readonly StoredName[];
}

const built = ({ list = [], ask = [] }: Names): BuiltLists => ({
  lists: new Map([
    ['all-8b', listOf(list.map(({ expression }) => expression))],
    ['ask-8b', listOf(ask.map(({ expression }) => expression))],
  ]),
  covers: [],
  notCovered: [],
  unread: [],
  namesOf: (half: Half, hashes) =>
    Promise.resolve({
      names: (half === 'ask' ? ask : list).filter(({ expression }) =>
        hashes.some((one) => one.equals(hashOf(expression))),
      ),
      changed: [],
    }),
});

/** The stored names; those that no list has in brackets. */
const stored = async (): Promise<string[]> => {
  const { rows } = await database.pool.query(
    'select expression, unlisted_at from service.list_names order by expression, is_ask',
  );
  return rows.map(({ expression, unlisted_at: at }) => (at === null ? expression : `(${expression})`));
};

const hasNames = async (): Promise<boolean> => (await READ_LISTS.run(database.pool, {}))[0]!.hasNames;

/** The contents with the same first bytes as an expression that a client of Safe Browsing finds. */
const found = async (expression: string): Promise<string[]> => {
  const prefix = hashOf(expression).subarray(0, 4);
  const [lowest, highest] = [Buffer.alloc(4), Buffer.alloc(4, 255)].map((end) => [Buffer.concat([prefix, end])]);
  const rows = await NAMES_BETWEEN.run(database.pool, { lowest: lowest!, highest: highest!, limit: 10 });
  return rows.map((row) => row.expression);
};

/** As before and after a version is published. */
const store = async (names: ListNames, lists: BuiltLists, of: readonly ServedList[]): Promise<void> => {
  await names.store(lists, of);
  await names.unlistOthers(lists);
};

describe('The names of lists', () => {
  it('follow the lists; what was removed stays for clients that ask for changes', async () => {
    const names = new ListNames(database.pool);
    const [one, two] = [ofList('one.example/'), ofList('two.example/p')];
    await store(names, built({ list: [one] }), served);
    expect([await stored(), await hasNames()]).toEqual([['one.example/'], true]);
    await store(names, built({ list: [one] }), served);
    expect(await hasNames()).toBe(true);
    await store(names, built({ list: [two] }), served);
    expect(await stored()).toEqual(['(one.example/)', 'two.example/p']);
    await store(names, built({ list: [one, two] }), served);
    expect(await stored()).toEqual(['one.example/', 'two.example/p']);
  });

  it('of exceptions are deleted with them', async () => {
    const names = new ListNames(database.pool);
    const not = exception('!good.evil.example/', 'good.evil.example');
    const ask = exception('evil.example/', 'evil.example');
    await store(names, built({ list: [not], ask: [ask] }), served);
    await store(names, built({ list: [not], ask: [ask] }), served);
    expect(await stored()).toEqual(['!good.evil.example/', 'evil.example/']);
    await store(names, built({}), served);
    expect(await stored()).toEqual([]);
  });

  it('are compared as a whole by a process that takes over', async () => {
    await store(
      new ListNames(database.pool),
      built({ list: [ofList('one.example/'), ofList('two.example/')] }),
      served,
    );
    const other = new ListNames(database.pool);
    const lists = built({ list: [ofList('two.example/'), ofList('three.example/')] });
    await store(other, lists, served);
    expect(await stored()).toEqual(['(one.example/)', 'three.example/', 'two.example/']);
    await database.pool.query('delete from service.list_names');
    await store(other, lists, served);
    expect(await stored()).toEqual([]);
    other.reset();
    await store(other, lists, served);
    expect(await stored()).toEqual(['three.example/', 'two.example/']);
  });

  it('are compared as a whole every hour, because a process that lost the lease may have stored some late', async () => {
    const clock = new TestClock();
    const names = new ListNames(database.pool, clock);
    const lists = built({ list: [ofList('one.example/')] });
    await store(names, lists, served);
    const late = { ...ofList('late.example/'), hash: hashOf('late.example/') };
    await ADD_NAMES.runEach(database.pool, [late], { isAsk: false });
    const seen: string[][] = [];
    for (const ms of [3_599_990, 10]) {
      await clock.advance(ms, ms);
      await store(names, lists, served);
      seen.push(await stored());
    }
    expect(seen).toEqual([
      ['late.example/', 'one.example/'],
      ['(late.example/)', 'one.example/'],
    ]);
  });

  it('of a long first list are stored between the next versions, and those of changes at once', async () => {
    const names = new ListNames(database.pool);
    const many = Array.from({ length: 20_001 }, (_, n) => `h${n}.example/`);
    const lists = { ...built({}), lists: new Map([['all-8b' as const, listOf(many)]]) };
    const asked: number[] = [];
    const namesOf: BuiltLists['namesOf'] = (_, hashes) =>
      Promise.resolve((asked.push(hashes.length), { names: [], changed: [] }));
    await names.store({ ...lists, namesOf }, served);
    const more = new Map([['all-8b' as const, listOf([...many, 'new.example/'])]]);
    await names.store({ ...lists, lists: more, namesOf }, served);
    expect(asked).toEqual([20_000, 1, 1]);
    expect(await hasNames()).toBe(true);
  });

  it('of a change are stored at once, also by a process that takes over', async () => {
    const names = new ListNames(database.pool);
    const many = Array.from({ length: 20_001 }, (_, n) => `h${n}.example/`);
    const published = LIST_NAMES.map((name) => {
      const hashes = name === 'all-8b' ? listOf(many) : new Uint8Array();
      return { name, current: { hashes }, head: { hasNames: true } } as unknown as ServedList;
    });
    const asked: number[] = [];
    const namesOf: BuiltLists['namesOf'] = (_, hashes) =>
      Promise.resolve((asked.push(hashes.length), { names: [], changed: [] }));
    const lists = new Map([['all-8b' as const, listOf([...many, 'new.example/'])]]);
    await names.store({ ...built({}), lists, namesOf }, published);
    expect(asked).toEqual([1, 20_000]);
  });

  it('are stored by the call after one that failed', async () => {
    const names = new ListNames(database.pool);
    const lists = built({ list: [ofList('one.example/')] });
    await expect(
      names.store({ ...lists, namesOf: () => Promise.reject(new Error('The database ended')) }, served),
    ).rejects.toThrow('ended');
    await store(names, lists, served);
    expect(await stored()).toEqual(['one.example/']);
  });

  it('that were not found because statuses had changed are stored by a later call, if they are still listed', async () => {
    const names = new ListNames(database.pool);
    const [one, two] = [ofList('one.example/'), ofList('two.example/')];
    await store(names, built({}), served);
    const lists = built({ list: [one, two] });
    const asked: number[] = [];
    const namesOf: BuiltLists['namesOf'] = (_, hashes) =>
      Promise.resolve((asked.push(hashes.length), { names: [], changed: hashes }));
    await store(names, { ...lists, namesOf }, served);
    expect(await stored()).toEqual([]);
    await store(names, built({ list: [one] }), served);
    expect(await stored()).toEqual(['one.example/']);
    asked.length = 0;
    await store(names, { ...built({ list: [one] }), namesOf }, served);
    expect(asked).toEqual([]);
  });

  it('of an own status leave with its asset, also if a build that began earlier ends later', async () => {
    const status = (assetHash: string, asset: string): Promise<unknown> =>
      database.pool.query(
        `insert into read.asset_statuses (asset_hash, asset, status, position) values ($1, $2, 'BLOCKED', 1)
          on conflict (asset_hash) do update set asset = excluded.asset`,
        [assetHash, asset],
      );
    await status('aa', 'URL:one.example');
    await status('bb', 'URL:two.example');
    const lists = built({ list: [ofOwn('one.example/', 'aa'), ofOwn('two.example/', 'bb'), ofList('three.example/')] });
    const names = new ListNames(database.pool);
    await store(names, lists, served);
    expect(await stored()).toEqual(['one.example/', 'three.example/', 'two.example/']);
    await status('aa', '');
    await forgetNames(database.pool);
    expect(await stored()).toEqual(['three.example/', 'two.example/']);
    names.reset();
    await store(names, lists, served);
    expect(await stored()).toEqual(['three.example/', 'two.example/']);
  });

  it('of an asset are forgotten also if they are being added while it is redacted', async () => {
    await database.pool.query(
      `insert into read.asset_statuses (asset_hash, asset, status, position) values ('aa', 'URL:a.example', 'BLOCKED', 1)`,
    );
    const builder = await database.pool.connect();
    try {
      await builder.query('begin');
      const row = { hash: hashOf('a.example/'), expression: 'a.example/', exceptionHost: undefined, assetHash: 'aa' };
      await ADD_NAMES.runEach(builder, [row], { isAsk: false });
      await database.pool.query(`update read.asset_statuses set asset = ''`);
      const forgotten = forgetNames(database.pool);
      await eventually('the redaction waits', async () => {
        const { rows } = await database.pool.query(
          `select from pg_locks where not granted and mode ~ 'ShareRowExclusive'`,
        );
        return rows.length > 0;
      });
      await builder.query('commit');
      await forgotten;
    } finally {
      builder.release();
    }
    expect(await stored()).toEqual([]);
  });

  it('say whose they are, also if another list has the same expression', async () => {
    await database.pool.query(
      `insert into read.asset_statuses (asset_hash, asset, status, position) values ('aa', 'URL:a.example', 'BLOCKED', 1)`,
    );
    const names = new ListNames(database.pool);
    const hashes = listOf(['a.example/']);
    const withLists = (own: Uint8Array, assetHash: string): BuiltLists => ({
      ...built({ list: [ofOwn('a.example/', assetHash)] }),
      lists: new Map([
        ['all-8b', hashes],
        ['own-8b', own],
      ]),
    });
    const whose = async (): Promise<string[]> =>
      (await database.pool.query('select asset_hash from service.list_names')).rows.map((row) => row.asset_hash);
    await names.store(withLists(Buffer.alloc(0), ''), served);
    expect(await whose()).toEqual(['']);
    await names.store(withLists(hashes, 'aa'), served);
    expect(await whose()).toEqual(['aa']);
    await names.store(withLists(Buffer.alloc(0), ''), served);
    expect(await whose()).toEqual(['']);
  });

  it('of an own status whose asset no table names are deleted with it', async () => {
    const names = new ListNames(database.pool);
    await names.store(built({ list: [ofOwn('one.example/', 'aa')] }), served);
    expect(await stored()).toEqual(['one.example/']);
    await names.unlistOthers(built({}));
    expect(await stored()).toEqual([]);
  });

  it('of removed contents expire', async () => {
    const names = new ListNames(database.pool);
    await store(names, built({ list: [ofList('one.example/'), ofList('two.example/')] }), served);
    await store(names, built({ list: [ofList('two.example/')] }), served);
    await deleteExpired(database.pool, OLD_NAMES, 10);
    expect(await stored()).toEqual(['(one.example/)', 'two.example/']);
    await database.pool.query('update service.list_names set unlisted_at = unlisted_at - 2678400001');
    await deleteExpired(database.pool, OLD_NAMES, 10);
    expect(await stored()).toEqual(['two.example/']);
  });

  it('are found by the beginning of their hash, unless something at or below their host is not blocked', async () => {
    const expressions = ['evil.example/', 'evil.example/p', 'other-evil.example/'];
    const names = new ListNames(database.pool);
    const list = expressions.map(ofList);
    await store(names, built({ list }), served);
    const all = async (): Promise<string[]> => (await Promise.all(expressions.map(found))).flat();
    expect(await all()).toEqual(expressions);
    const ask = [exception('a.other-evil.example/*', 'a.other-evil.example')];
    for (const host of ['good.evil.example', 'evil.example', 'a.b.evil.example']) {
      await store(names, built({ list: [...list, exception(`!=${host}/`, host)] }), served);
      expect(await all()).toEqual(['other-evil.example/']);
    }
    await store(names, built({ list: [...list, exception('!badevil.example/', 'badevil.example')], ask }), served);
    expect(await all()).toEqual(['evil.example/', 'evil.example/p']);
    await store(names, built({ list, ask: [] }), served);
    expect(await all()).toEqual(expressions);
  });
});
