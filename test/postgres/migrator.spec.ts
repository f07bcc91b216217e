import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Kysely, Migrator, PostgresDialect, sql } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import { ConfigError } from '../../src/runtime/config.js';
import { migrate, missingMigrations, type NumberedMigration } from '../../src/postgres/migrator.js';
import { createPool } from '../../src/postgres/pool.js';
import { LOCK_UNTIL_COMMIT } from '../../src/postgres/statements.js';
import { eventually } from '../support/eventually.js';
import { createDatabase, type TestDatabase } from '../support/postgres.js';

const step = (statement: string): NumberedMigration => ({
  up: async (db: Kysely<unknown>): Promise<void> => {
    await sql.raw(statement).execute(db);
  },
});

/** The last of these is the last that versions before `later_migrations` know. */
const EARLIER = {
  '0001-first': step('create table read.first (a int)'),
  '0012-members-and-reviews': step('create table read.second (a int)'),
};
const EXPANDED = { ...EARLIER, '0013-more': step('alter table read.first add b int') };
const CONTRACTED = {
  ...EXPANDED,
  '0014-less': {
    ...step('alter table read.first drop a'),
    minimalVersion: { knows: '0013-more', version: '2.1.0' },
  },
};

describe('Tables of a newer version', () => {
  let database: TestDatabase;
  let pool: Pool;

  beforeEach(async () => {
    database = await createDatabase({ migrated: false });
    ({ pool } = database);
  });
  afterEach(() => database.drop());

  /** As versions before `later_migrations` migrated. */
  const migrateWithKysely = async (): Promise<unknown> => {
    const migrator = new Migrator({
      db: new Kysely({ dialect: new PostgresDialect({ pool }) }),
      provider: { getMigrations: () => Promise.resolve(EARLIER) },
      migrationTableSchema: 'read',
      migrationTableName: 'migrations',
      migrationLockTableName: 'migrations_lock',
    });
    return (await migrator.migrateToLatest()).error;
  };

  it('are passed over if they were only extended', async () => {
    expect(await migrate(pool, 'read', EXPANDED)).toEqual([]);
    expect(await migrate(pool, 'read', EARLIER)).toEqual(['0013-more']);
  });

  it('are refused by a version that lacks what replaces the removed, with the version that has it', async () => {
    await migrate(pool, 'read', CONTRACTED);
    expect(await migrate(pool, 'read', EXPANDED)).toEqual(['0014-less']);
    const refused = migrate(pool, 'read', EARLIER);
    await expect(refused).rejects.toThrow(ConfigError);
    await expect(refused).rejects.toThrow(/0014-less removed .* Start version 2\.1\.0 or later, or restore the backup/);
  });

  it('are no obstacle to versions that refused names unknown to them, whoever made the tables', async () => {
    await migrate(pool, 'read', EXPANDED);
    expect(await migrateWithKysely()).toBeUndefined();
  });

  it('are made from those of such a version', async () => {
    expect(await migrateWithKysely()).toBeUndefined();
    await migrate(pool, 'read', EXPANDED);
    await pool.query('select a, b from read.first');
    expect(await migrateWithKysely()).toBeUndefined();
  });

  it('are made once by processes that start together, and not in half if a step fails', async () => {
    const broken = { ...EXPANDED, '0015-broken': step('alter table read.nowhere add b int') };
    const pools = Array.from({ length: 4 }, () => createPool(database.url, () => {}, { max: 1 }));
    try {
      for (const each of pools) {
        await expect(migrate(each, 'read', broken)).rejects.toThrow('"read.nowhere" does not exist');
        // The process of the server at the other end remembers that there is none, also while it waits for the lock.
        expect((await each.query(`select to_regnamespace('read') as found`)).rows).toEqual([{ found: null }]);
      }
      expect(await Promise.all(pools.map((each) => migrate(each, 'read', EXPANDED)))).toEqual([[], [], [], []]);
    } finally {
      for (const each of pools) await each.end();
    }
  });

  it('take as long as they take, whatever the limits of a request are; only for a table they wait no longer', async () => {
    const hurried = createPool(database.url, () => {}, { statement_timeout: 200, query_timeout: 300 });
    try {
      const limits = `select current_setting('statement_timeout') as statement, current_setting('lock_timeout') as lock`;
      await migrate(hurried, 'read', {
        ...EARLIER,
        '0013-slow': step('select pg_sleep(1)'),
        '0014-limits': step(`create table read.limits as ${limits}`),
      });
      expect((await pool.query('select * from read.limits')).rows).toEqual([{ statement: '0', lock: '4s' }]);
      await expect(hurried.query('select pg_sleep(1)')).rejects.toThrow('timeout');
    } finally {
      await hurried.end();
    }
  });

  describe('while another process makes them, for longer than a request may take,', () => {
    let hurried: Pool;
    let other: PoolClient;

    beforeEach(async () => {
      hurried = createPool(database.url, () => {}, { statement_timeout: 200, query_timeout: 300 });
      other = await pool.connect();
      await other.query('begin');
      await LOCK_UNTIL_COMMIT.run(other, { key: '3853314791062309107' });
    });
    afterEach(async () => {
      other.release(true);
      await hurried.end();
    });

    it('are waited for, which is said once', async () => {
      let told = 0;
      const looks = jest.spyOn(hurried, 'connect');
      const migrated = migrate(hurried, 'read', EARLIER, { onWait: () => (told += 1) });
      await eventually('it says that it waits', () => told > 0);
      const before = looks.mock.calls.length;
      await eventually('it has looked several times more', () => looks.mock.calls.length >= before + 4);
      await other.query('commit');
      expect(await migrated).toEqual([]);
      expect(told).toBe(1);
      await pool.query('select a from read.first');
    });

    it('are no longer waited for by a process that is asked to stop', async () => {
      const stop = new AbortController();
      const { signal } = stop;
      const migrated = migrate(hurried, 'read', EARLIER, { onWait: () => stop.abort(), stop: signal });
      expect(await migrated).toEqual([]);
      expect((await pool.query(`select to_regclass('read.first') as found`)).rows).toEqual([{ found: null }]);
    });
  });

  it('need no right to create schemas if the schema is there', async () => {
    await migrate(pool, 'read', EARLIER);
    const name = new URL(database.url).pathname.slice(1);
    await pool.query(`create role ${name} login; alter schema read owner to ${name};
      alter table read.migrations owner to ${name}; alter table read.later_migrations owner to ${name};
      alter table read.first owner to ${name}`);
    const connection = await pool.connect();
    try {
      await connection.query(`set role ${name}`);
      const borrowed = { connect: () => Promise.resolve({ query: connection.query.bind(connection), release() {} }) };
      await migrate(borrowed as unknown as Pool, 'read', EXPANDED);
      expect(await missingMigrations(pool, 'read', EXPANDED)).toEqual([]);
    } finally {
      await connection.query('reset role');
      connection.release();
      await pool.query(`reassign owned by ${name} to current_user; drop role ${name}`);
    }
  });
});
