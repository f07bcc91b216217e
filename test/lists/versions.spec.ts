import { generateKeyPairSync, verify } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type BuiltLists, LIST_NAMES } from '../../src/lists/built-lists.js';
import { markOf } from '../../src/lists/history.js';
import { OLD_LIST_VERSIONS, READ_LISTS, VersionMoved } from '../../src/lists/list-versions.js';
import { publishLists, readSigner, type Signer, signedText } from '../../src/lists/publish-lists.js';
import { readToken, ServedList, tokenOf } from '../../src/lists/served-list.js';
import { checksumOf, removalIndices } from '../../src/lists/sorted-hashes.js';
import { deleteExpired } from '../../src/read-models/expiry.js';
import { sized } from '../support/full-size.js';
import { createDatabase, type TestDatabase } from '../support/postgres.js';
import { Random } from '../support/random.js';
import { updateList } from './client.js';
import { listOf, randomHashes } from './random-hashes.js';

const CUT = 1_790_000_000_000;
const list = (...numbers: number[]): Uint8Array => listOf(numbers.map(BigInt));
const built = (all: Uint8Array): BuiltLists => ({
  lists: new Map([['all-8b', all]]),
  covers: ['own'],
  notCovered: [{ source: 'other', reason: 'kind http' }],
  unread: [],
  namesOf: () => Promise.resolve({ names: [], changed: [] }),
});

let database: TestDatabase;
beforeEach(async () => {
  database = await createDatabase();
});
afterEach(() => database.drop());

/** A process that serves the lists, and may publish them. */
class Process {
  readonly served = LIST_NAMES.map((name) => new ServedList(name));
  readonly all = this.served[0]!;

  async follow(): Promise<this> {
    for (const head of await READ_LISTS.run(database.pool, {}))
      await this.served.find(({ name }) => name === head.name)!.follow(database.pool, head);
    return this;
  }
  async publish(all: Uint8Array, cutAt = CUT, signer?: Signer): Promise<boolean> {
    const isStored = await publishLists(database.pool, this.served, built(all), { cutAt, signer });
    await this.follow();
    return isStored;
  }
}

describe('The versions of a list', () => {
  it('are made only if something has changed', async () => {
    const one = new Process();
    expect(await one.publish(list(1, 2))).toBe(true);
    expect(await one.publish(list(1, 2))).toBe(false);
    expect(await one.publish(list(1, 3))).toBe(true);
    expect(one.all.current).toMatchObject({ number: 2, hashes: list(1, 3) });
    // Some clients know a version by its second.
    expect(one.all.head).toMatchObject({ cutAt: CUT + 1_000, signature: null });
    expect((await new Process().follow()).all.current).toEqual(one.all.current);
  });

  it('get a new instant and signature at least hourly, without another version', async () => {
    const hours = (count: number): number => CUT + count * 3_600_000;
    const { privateKey } = generateKeyPairSync('ed25519');
    const signer = readSigner(privateKey.export({ format: 'pem', type: 'pkcs8' }) as string);
    const one = new Process();
    const seen = async (cutAt: number, by?: Signer): Promise<unknown[]> => {
      await one.publish(list(1), cutAt, by);
      const { cutAt: signedAt, signature } = one.all.head!;
      return [one.all.current!.number, signedAt, signature !== null];
    };
    expect(await seen(CUT)).toEqual([1, CUT, false]);
    expect(await seen(hours(0.5))).toEqual([1, CUT, false]);
    expect(await seen(hours(0.6), signer)).toEqual([1, hours(0.6), true]);
    expect(await seen(hours(1.5), signer)).toEqual([1, hours(0.6), true]);
    expect(await seen(hours(1.6), signer)).toEqual([1, hours(1.6), true]);
  });

  it('are refused if another process has published first, and leave nothing of any list', async () => {
    const [one, two] = [new Process(), new Process()];
    await one.publish(list(1));
    await two.follow();
    await one.publish(list(1, 2));
    await expect(two.publish(list(1, 3))).rejects.toThrow(VersionMoved);
    expect((await two.follow()).all.current).toMatchObject({ number: 2, hashes: list(1, 2) });
    expect(await two.publish(list(1, 3))).toBe(true);
    expect((await one.follow()).all.current).toMatchObject({ number: 3, hashes: list(1, 3) });
  });

  it.each([
    ['signs', 1.7],
    ['keeps', 1.1],
  ])('are not written over a newer signature by a stalled process that %s the same list', async (_, hours) => {
    const at = (count: number): number => CUT + count * 3_600_000;
    const [one, two] = [new Process(), new Process()];
    await one.publish(list(1), at(0.5));
    await two.follow();
    await one.publish(list(1), at(1.8));
    await expect(two.publish(list(1), at(hours))).rejects.toThrow(VersionMoved);
    expect((await two.follow()).all.head!.cutAt).toBe(at(1.8));
  });

  it('are stored once if two processes publish at the same time', async () => {
    const [one, two] = [new Process(), new Process()];
    const outcomes = await Promise.allSettled([one.publish(list(1)), two.publish(list(2))]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    await Promise.all([one.follow(), two.follow()]);
    expect(one.all.current).toEqual(two.all.current);
    expect(one.all.current!.number).toBe(1);
  });

  it('lead a client of any age to the newest version, also in a process that has just started', async () => {
    const random = new Random(3);
    const [entries, versions] = [sized(200, 4_000), sized(60, 10_000)];
    const hashes = new Set(Array.from({ length: entries }, (_, n) => BigInt(n) << 40n));
    const [builder, follower] = [new Process(), new Process()];
    const clients: { readonly token: string; readonly hashes: Uint8Array }[] = [];
    for (let n = 0; n < versions; n++) {
      for (let change = 0; change < 5; change++) {
        const hash = BigInt(random.int(1.3 * entries)) << 40n;
        if (!hashes.delete(hash)) hashes.add(hash);
      }
      await builder.publish(listOf([...hashes]));
      if (random.chance(0.3)) await follower.follow();
      if (random.chance(1_000 / versions)) clients.push(builder.all.current!);
    }
    await follower.follow();
    for (const { all } of [builder, follower, await new Process().follow()]) {
      let changes = 0;
      for (const { token, hashes: before } of clients) {
        const since = readToken(token)!;
        if (!all.canUpdate(since)) continue;
        changes += 1;
        const [change, version] = [await all.changeSince(since), all.current!];
        const removals = removalIndices(version.hashes, change);
        expect(await updateList(before, removals, change.added, version.hashes)).toEqual(version.hashes);
      }
      expect(changes).toBeGreaterThan(20);
    }
  });

  it('are sent whole to clients whose changes would be more than 20,000 hashes', async () => {
    const builder = new Process();
    const first = (count: number): Uint8Array => list(...Array.from({ length: count }, (_, n) => n));
    const since = { number: 1, mark: markOf(await checksumOf(first(30_000))) };
    const updatable: boolean[] = [];
    for (const count of [30_000, 50_000, 50_001]) {
      await builder.publish(first(count));
      updatable.push(builder.all.canUpdate(since));
    }
    expect(updatable).toEqual([true, true, false]);
  });

  it('are never continued from a version that a restore has removed and whose number was used again', async () => {
    const [builder, other] = [new Process(), new Process()];
    await builder.publish(list(1, 2, 3, 4));
    await builder.publish(list(1, 2, 3, 4, 5));
    const lost = (await other.follow()).all.current!;
    // Restores the database as it was at version 1.
    await database.pool.query(`delete from service.list_versions where number = 2 and name = 'all-8b';
      update service.lists set number = 1, sha256 = (select sha256 from service.list_versions where name = 'all-8b')
      where name = 'all-8b'`);
    const restarted = await new Process().follow();
    await restarted.publish(list(1, 2, 3, 4, 6));
    await restarted.publish(list(1, 2, 3, 4, 6, 7));
    expect(lost.number).toBe(2);
    for (const { all } of [restarted, await other.follow(), await new Process().follow()]) {
      expect(all.current!.hashes).toEqual(list(1, 2, 3, 4, 6, 7));
      expect(all.canUpdate(lost)).toBe(false);
      expect((await all.changeSince(readToken(tokenOf(restarted.all.current!))!)).added).toHaveLength(0);
    }
  });

  it('are read again from the whole list if a change was lost', async () => {
    const [builder, other] = [new Process(), new Process()];
    await builder.publish(list(1, 2, 3, 4));
    await other.follow();
    await builder.publish(list(1, 2, 3, 5));
    await builder.publish(list(1, 2, 3, 6));
    await database.pool.query(`update service.list_versions set added = removed where number = 2 and name = 'all-8b'`);
    await expect(other.follow()).rejects.toThrow('does not fit');
    expect(other.all.current).toBeUndefined();
  });

  it('are deleted after 31 days, except those after the newest whole list', async () => {
    const builder = new Process();
    const now = Date.now();
    // Each list replaces the one before, so that a whole list is stored again and again.
    for (let n = 0; n < 8; n++) await builder.publish(randomHashes(20_000, n), now - (n < 6 ? 32 : 1) * 86_400_000);
    const numbers = async (): Promise<unknown[]> =>
      (
        await database.pool.query(`select number, hashes is not null as whole from service.list_versions
          where name = 'all-8b' order by number`)
      ).rows.map((row: { number: number; whole: boolean }) => `${row.number}${row.whole ? ' whole' : ''}`);
    const before = await numbers();
    expect(before.filter((row) => String(row).endsWith('whole'))).toHaveLength(1);
    await deleteExpired(database.pool, OLD_LIST_VERSIONS, 5_000);
    expect((await numbers()).length).toBeLessThan(before.length);
    expect((await new Process().follow()).all.current).toEqual(builder.all.current);
  });

  it('are signed with name, version, checksum and instant', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    const builder = new Process();
    const signer = readSigner(privateKey.export({ format: 'pem', type: 'pkcs8' }) as string);
    await builder.publish(list(1), CUT, signer);
    const { token, sha256 } = builder.all.current!;
    const { signature } = builder.all.head!;
    const isValid = (name: string): boolean =>
      verify(null, Buffer.from(signedText(name, token, sha256, CUT)), publicKey, signature!);
    expect([isValid('all-8b'), isValid('own-8b')]).toEqual([true, false]);
    expect(signer.publicKey).toHaveLength(44);
  });

  it('are refused if a built list is not sorted', async () => {
    await expect(new Process().publish(Buffer.concat([list(2), list(1)]))).rejects.toThrow(RangeError);
  });
});
