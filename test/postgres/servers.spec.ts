import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { createPool } from '../../src/postgres/pool.js';
import { Servers } from '../../src/postgres/servers.js';
import { isTransient } from '../../src/postgres/transient-errors.js';
import { eventually } from '../support/eventually.js';
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
const way = async (
  at = 0,
): Promise<{
  port: number;
  used: () => number;
  cut: () => Promise<void>;
  /** It answers nothing any more, on old and new connections. @returns how many have come since */
  freeze: () => () => number;
  /** The oldest connection breaks. */
  breakOne: () => void;
}> => {
  const { hostname, port } = new URL(database.url);
  const sockets = new Set<Socket>();
  let isFrozen = false;
  let came = 0;
  const server: Server = createServer((near) => {
    if (isFrozen) {
      came += 1;
      return void sockets.add(near.on('error', () => {}));
    }
    const far = connect(Number(port || 5432), hostname);
    for (const socket of [near, far])
      sockets.add(socket.on('error', () => near.destroy()).on('close', () => (near.destroy(), far.destroy())));
    near.pipe(far).pipe(near);
  }).listen(at, '127.0.0.1');
  await once(server, 'listening');
  const cut = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  };
  endings.push(cut);
  const used = (): number => [...sockets].filter(({ destroyed }) => !destroyed).length;
  const freeze = (): (() => number) => {
    isFrozen = true;
    for (const socket of sockets) socket.unpipe().pause();
    return () => came;
  };
  const breakOne = (): void => void [...sockets].find(({ destroyed }) => !destroyed)!.destroy();
  return { port: (server.address() as { port: number }).port, used, cut, freeze, breakOne };
};

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
    await gone.cut();
    const hosts = [gone, first, second].map(({ port }) => `127.0.0.1:${port}`).join(',');
    const url = database.url.replace(/@[^/]+/, `@${hosts}`);
    const pool = poolOf(`${url}?target_session_attrs=read-write`);
    await pool.query('create table t (a int)');
    expect(pool.totalCount).toBe(1);
    const before = first.used();
    expect(before).toBeGreaterThan(0);
    await first.cut();
    await eventually('the second is used', async () => pool.query('select 1').then(Boolean, () => false));
    expect(first.used()).toBe(0);
    expect(second.used()).toBeGreaterThan(0);
  });

  it('one that is frozen keeps no new connection to the other one waiting', async () => {
    const [first, second] = [await way(), await way()];
    const looks = second.freeze();
    const pool = poolOf(database.url.replace(/@[^/]+/, `@127.0.0.1:${first.port},127.0.0.1:${second.port}`));
    // Kept: while nobody is connected there are no looks, and one that ends casts doubt on its server.
    const connected = async (): Promise<void> => {
      const kept = await pool.connect();
      endings.push(async () => kept.release(true));
    };
    await connected();
    // The machine may be busy during one look; a connection that waits for looks is late at each.
    await eventually('one was made while the frozen one was looked at', async () => {
      const before = looks();
      await eventually('the next look', () => looks() > before);
      return Promise.race([connected().then(() => true), sleep(800, false)]);
    });
  });

  it('the next one is found, whatever is lost while the one that is frozen is looked at', async () => {
    const [first, second] = [await way(), await way()];
    await second.cut();
    const hosts = [first, second].map(({ port }) => `127.0.0.1:${port}`).join(',');
    const pool = poolOf(database.url.replace(/@[^/]+/, `@${hosts}`));
    const clients = await Promise.all([1, 2, 3].map(() => pool.connect()));
    const looks = first.freeze();
    first.breakOne();
    await eventually('the frozen one is looked at', () => looks() === 1, 5_000);
    first.breakOne();
    await eventually('the look after it', () => looks() === 2, 5_000);
    await way(second.port);
    for (const client of clients) client.release(true);
    await eventually('the second is used', async () => pool.query('select 1').then(Boolean, () => false), 10_000);
  });
});
