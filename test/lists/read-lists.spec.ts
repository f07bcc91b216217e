import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { LIST_NAMES } from '../../src/lists/built-lists.js';
import { FollowedLists } from '../../src/lists/followed-lists.js';
import { publishLists } from '../../src/lists/publish-lists.js';
import { type ListAnswer, ReadList, ReadListHandler } from '../../src/lists/read-lists.js';
import { followLists, ServedList } from '../../src/lists/served-list.js';
import { Readiness } from '../../src/ops/readiness.js';
import type { WatchPool } from '../../src/read-models/pools.js';
import { createDatabase, type TestDatabase } from '../support/postgres.js';
import { listOf } from './random-hashes.js';

let database: TestDatabase;
let followed: FollowedLists;
beforeEach(async () => {
  database = await createDatabase();
  followed = new FollowedLists(database.pool as unknown as WatchPool, new Readiness(), new Registry());
});
afterEach(() => database.drop());

/** Publishes `all-8b` in another process. */
const publish = async (...numbers: number[]): Promise<void> => {
  const served = LIST_NAMES.map((name) => new ServedList(name));
  await followLists(database.pool, served);
  const lists = new Map([['all-8b' as const, listOf(numbers.map(BigInt))]]);
  await publishLists(
    database.pool,
    served,
    { lists, covers: [], notCovered: [], unread: [], namesOf: () => Promise.resolve({ names: [], changed: [] }) },
    { cutAt: Date.now() },
  );
};

const read = (since?: string): Promise<ListAnswer> =>
  new ReadListHandler(followed).execute(
    new ReadList({
      name: 'all-8b',
      since,
      form: 'json',
      ifNoneMatch: undefined,
      waitMs: 0,
      keyId: 'a',
      stranger: 'a 192.0.2.1',
      signal: new AbortController().signal,
    }),
  );

describe('A list', () => {
  it('is read first for a client that another process has sent a later version', async () => {
    await publish(1, 2, 3);
    await followed.follow();
    const { version } = await read();
    await publish(1, 2, 3, 4);
    const other = new ServedList('all-8b');
    await followLists(database.pool, [other]);
    expect((await read(version.token)).version.token).toBe(version.token);
    const answer = await read(other.current!.token);
    expect(answer.version.token).toBe(other.current!.token);
    expect(JSON.parse(String(answer.body))).toMatchObject({ partialUpdate: true });
  });

  it('is sent whole to a client with a version that no process has, as after a restore', async () => {
    await publish(1, 2, 3);
    await followed.follow();
    const answer = await read('7-0123456789abcdef');
    expect(answer.version.number).toBe(1);
    expect(JSON.parse(String(answer.body))).toMatchObject({ partialUpdate: false });
  });
});
