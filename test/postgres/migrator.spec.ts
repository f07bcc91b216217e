import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Kysely, type Migration, Migrator, PostgresDialect, sql } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import { ConfigError } from '../../src/runtime/config.js';
import { migrate, missingMigrations } from '../../src/postgres/migrator.js';
import { createPool } from '../../src/postgres/pool.js';
import { LOCK_UNTIL_COMMIT } from '../../src/postgres/statement.js';
import { eventually } from '../support/eventually.js';
import { newDatabase } from '../support/open-for-tests.js';

const step = (statement: string): Pick<Migration, 'up'> => ({
  up: async (db: Kysely<unknown>): Promise<void> => {
    await sql.raw(statement).execute(db);
  },
});

/** The last of these migrations is the last one that versions without `later_migrations` know. */
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

describe('migrate', () => {
  const database = newDatabase({ migrated: false });
  let pool: Pool;

  beforeEach(async () => {
    ({ pool } = database);
  });

  /** Migrates as versions without `later_migrations` do. */
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

  it('ignores migrations of a newer version that only extend the tables', async () => {
    expect(await migrate(pool, 'read', EXPANDED)).toEqual([]);
    expect(await migrate(pool, 'read', EARLIER)).toEqual(['0013-more']);
  });

  it('rejects tables from which a newer version removed something, and names the minimal version', async () => {
    await migrate(pool, 'read', CONTRACTED);
    expect(await migrate(pool, 'read', EXPANDED)).toEqual(['0014-less']);
    const refused = migrate(pool, 'read', EARLIER);
    await expect(refused).rejects.toThrow(ConfigError);
    await expect(refused).rejects.toThrow(/0014-less removed .* Start version 2\.1\.0 or later, or restore the backup/);
  });

  it('leaves the table `migrations` readable for versions that reject unknown names in it', async () => {
    await migrate(pool, 'read', EXPANDED);
    expect(await migrateWithKysely()).toBeUndefined();
  });

  it('migrates the tables of a version without `later_migrations`', async () => {
    expect(await migrateWithKysely()).toBeUndefined();
    await migrate(pool, 'read', EXPANDED);
    await pool.query('select a, b from read.first');
    expect(await migrateWithKysely()).toBeUndefined();
  });

  it('runs once if processes start together, and continues with the migration that failed', async () => {
    const broken = { ...EXPANDED, '0015-broken': step('alter table read.nowhere add b int') };
    const pools = Array.from({ length: 4 }, () => createPool(database.url, () => {}, { max: 1 }));
    try {
      for (const each of pools) {
        await expect(migrate(each, 'read', broken)).rejects.toThrow('"read.nowhere" does not exist');
        expect(await missingMigrations(pool, 'read', broken)).toEqual(['0015-broken']);
      }
      expect(await Promise.all(pools.map((each) => migrate(each, 'read', EXPANDED)))).toEqual([[], [], [], []]);
    } finally {
      for (const each of pools) await each.end();
    }
  });

  it('lets readers read between the statements of a migration, and is completed after it was killed there', async () => {
    const steps = {
      ...EARLIER,
      '0013-index': {
        statements: [
          'alter table read.first add column if not exists b int',
          // A slow index: it waits for a lock that this test holds.
          'select pg_advisory_xact_lock(7)',
          'create index if not exists first_by_b on read.first (b)',
        ],
      },
    };
    const other = await pool.connect();
    try {
      await other.query('select pg_advisory_lock(7)');
      const killed = migrate(pool, 'read', steps);
      const waiting = `select pid from pg_stat_activity where datname = current_database() and wait_event = 'advisory'`;
      await eventually('the second statement runs', async () => (await pool.query(waiting)).rowCount === 1);
      await other.query(`begin; set local lock_timeout = '1s'; select b from read.first; commit`);
      await other.query(`select pg_terminate_backend(pid) from (${waiting}) migrating`);
      await expect(killed).rejects.toThrow();
      expect(await missingMigrations(pool, 'read', steps)).toEqual(['0013-index']);
      await other.query('select pg_advisory_unlock_all()');
      expect(await migrate(pool, 'read', steps)).toEqual([]);
      expect(await missingMigrations(pool, 'read', steps)).toEqual([]);
    } finally {
      other.release(true);
    }
  });

  it('is not bound by the timeouts of the pool, except while it waits for the lock of a table', async () => {
    const poolWithTimeouts = createPool(database.url, () => {}, { statement_timeout: 200, query_timeout: 300 });
    try {
      const limits = `select current_setting('statement_timeout') as statement, current_setting('lock_timeout') as lock`;
      await migrate(poolWithTimeouts, 'read', {
        ...EARLIER,
        '0013-slow': step('select pg_sleep(1)'),
        '0014-limits': step(`create table read.limits as ${limits}`),
      });
      expect((await pool.query('select * from read.limits')).rows).toEqual([{ statement: '0', lock: '1500ms' }]);
      await expect(poolWithTimeouts.query('select pg_sleep(1)')).rejects.toThrow('timeout');
    } finally {
      await poolWithTimeouts.end();
    }
  });

  describe('while another process migrates for longer than a statement may take', () => {
    let poolWithTimeouts: Pool;
    let other: PoolClient;

    beforeEach(async () => {
      poolWithTimeouts = createPool(database.url, () => {}, { statement_timeout: 200, query_timeout: 300 });
      other = await pool.connect();
      await other.query('begin');
      await LOCK_UNTIL_COMMIT.run(other, { key: '3853314791062309107' });
    });
    afterEach(async () => {
      other.release(true);
      await poolWithTimeouts.end();
    });

    it('waits, and reports once that it waits', async () => {
      let waitReports = 0;
      const looks = jest.spyOn(poolWithTimeouts, 'connect');
      const migrated = migrate(poolWithTimeouts, 'read', EARLIER, { onWait: () => (waitReports += 1) });
      await eventually('the migration reports that it waits', () => waitReports > 0);
      const before = looks.mock.calls.length;
      await eventually('the migration has tried several more times', () => looks.mock.calls.length >= before + 4);
      await other.query('commit');
      expect(await migrated).toEqual([]);
      expect(waitReports).toBe(1);
      await pool.query('select a from read.first');
    });

    it('stops waiting once the process is asked to stop', async () => {
      const stop = new AbortController();
      const { signal } = stop;
      const migrated = migrate(poolWithTimeouts, 'read', EARLIER, { onWait: () => stop.abort(), stop: signal });
      expect(await migrated).toEqual([]);
      expect((await pool.query(`select to_regclass('read.first') as found`)).rows).toEqual([{ found: null }]);
    });
  });

  it('needs no privilege to create schemas if the schema exists', async () => {
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
