import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { createPool } from '../../src/postgres/pool.js';
import { Servers } from '../../src/postgres/servers.js';
import { isTransient } from '../../src/postgres/transient-errors.js';
import { eventually } from '../support/eventually.js';
import { Gate } from '../support/gate.js';
import { createDatabase, type TestDatabase } from '../support/postgres.js';

let database: TestDatabase;
const endings: (() => Promise<unknown>)[] = [];
beforeEach(async () => void (database = await createDatabase({ migrated: false, pooled: false })));
afterEach(async () => {
  for (const ending of endings.splice(0).reverse()) await ending();
  await database.drop();
});

const poolOf = (url: string): ReturnType<typeof createPool> => {
  const pool = createPool(url, () => {});
  endings.push(() => pool.end());
  return pool;
};

/** One more way to the database. */
const way = async (): Promise<Gate> => {
  const { hostname, port } = new URL(database.url);
  const gate = new Gate({ host: hostname, port: Number(port || 5432) });
  await gate.open();
  endings.push(() => gate.close());
  return gate;
};
const through = (...gates: readonly Gate[]): string =>
  database.url.replace(/@[^/]+/, `@${gates.map(({ address }) => address).join(',')}`);

describe('A server that takes no writes', () => {
  it('is as good as away for new connections', async () => {
    const owner = new Client({ connectionString: database.url });
    await owner.connect();
    endings.push(() => owner.end());
    const name = new URL(database.url).pathname.slice(1);
    await owner.query(`alter database ${name} set default_transaction_read_only = on`);
    const pool = poolOf(database.url);
    const refused = await pool.query('select 1').catch((error: unknown) => error);
    expect((refused as Error).message).toMatch(/:\d+ takes no writes: it is a standby, or read-only$/);
    expect(isTransient(refused)).toBe(true);
    await owner.query(`alter database ${name} reset all`);
    await pool.query('select 1');
  });

  it('may be named by its socket, as pg reads it', () => {
    const url = 'postgres://u:p@/d?host=/run/postgresql';
    expect(Servers.of(url).connectionString).toBe(url);
    expect(Servers.of('postgres://%2Frun%2Fpostgresql/d').connectionString).toBe('postgres://%2Frun%2Fpostgresql/d');
  });

  it('loses all connections, of every pool, once it refuses a write', async () => {
    const [one, other] = [poolOf(database.url), poolOf(database.url)];
    await one.query('create table t (a int)');
    await Promise.all([one, other].map((pool) => Promise.all([pool.query('select 1'), pool.query('select 1')])));
    expect(other.totalCount).toBe(2);
    const client = await one.connect();
    await client.query('set default_transaction_read_only = on');
    await expect(client.query('insert into t values (1)')).rejects.toMatchObject({ code: '25006' });
    client.release();
    await eventually('both pools are empty', () => one.totalCount + other.totalCount === 0);
    await one.query('insert into t values (1)');
    await other.query('insert into t values (1)');
  });
});

describe('Of several servers', () => {
  it('the one that answers is used, and after it another', async () => {
    const [gone, first, second] = [await way(), await way(), await way()];
    await gone.close();
    const pool = poolOf(`${through(gone, first, second)}?target_session_attrs=read-write`);
    await pool.query('create table t (a int)');
    expect(pool.totalCount).toBe(1);
    expect(first.connections).toBeGreaterThan(0);
    await first.close();
    await eventually('the second is used', async () => pool.query('select 1').then(Boolean, () => false));
    expect(first.connections).toBe(0);
    expect(second.connections).toBeGreaterThan(0);
  });

  it('one whose timeline is lower than that of the last primary is not used', async () => {
    const [first, second] = [await way(), await way()];
    await second.close();
    const owner = new Client({ connectionString: database.url });
    await owner.connect();
    endings.push(() => owner.end());
    /** What servers say from now on: each promotion of a standby begins a timeline. */
    const onTimeline = (timeline: number): Promise<unknown> =>
      owner.query(
        `create or replace function timelines.pg_walfile_name(pg_lsn) returns text language sql
         as $$ select lpad('${timeline}', 8, '0') || repeat('0', 16) $$`,
      );
    await owner.query('create schema timelines');
    await onTimeline(2);
    const name = new URL(database.url).pathname.slice(1);
    await owner.query(`alter database ${name} set search_path = timelines, pg_catalog, public`);

    const pool = poolOf(through(first, second));
    const kept = await pool.connect();
    endings.push(async () => kept.release(true));
    await onTimeline(1);
    await first.close();
    await second.open();
    const isUsed = (): Promise<boolean> => pool.query('select 1').then(Boolean, () => false);
    for (let looks = second.taken; second.taken < looks + 3;) expect(await isUsed()).toBe(false);
    await onTimeline(2);
    await eventually('the second is used', isUsed);
  });

  it('one that is frozen keeps no new connection to the other one waiting', async () => {
    const [first, second] = [await way(), await way()];
    second.silence();
    const pool = poolOf(through(first, second));
    // Kept: while nobody is connected there are no looks, and one that ends casts doubt on its server.
    const connected = async (): Promise<void> => {
      const kept = await pool.connect();
      endings.push(async () => kept.release(true));
    };
    await connected();
    // The machine may be busy during one look; a connection that waits for looks is late at each.
    await eventually('one was made while the frozen one was looked at', async () => {
      const before = second.taken;
      await eventually('the next look', () => second.taken > before);
      return Promise.race([connected().then(() => true), sleep(800, false)]);
    });
    expect(first.connections).toBeGreaterThan(1);
  });

  it('the next one is found, whatever is lost while the one that is frozen is looked at', async () => {
    const [first, second] = [await way(), await way()];
    await second.close();
    const pool = poolOf(through(first, second));
    const clients = await Promise.all([1, 2, 3].map(() => pool.connect()));
    first.silence();
    const before = first.taken;
    first.dropOldest();
    await eventually('the frozen one is looked at', () => first.taken === before + 1);
    first.dropOldest();
    await eventually('the look after it', () => first.taken === before + 2);
    await second.open();
    for (const client of clients) client.release(true);
    await eventually('the second is used', async () => pool.query('select 1').then(Boolean, () => false));
    expect(second.connections).toBeGreaterThan(0);
  });
});
