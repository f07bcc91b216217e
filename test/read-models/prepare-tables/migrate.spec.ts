import { describe, expect, it } from '@jest/globals';
import { ConfigError } from '../../../src/runtime/config.js';
import { migrateReadModels } from '../../../src/read-models/prepare-tables.js';
import { newDatabase } from '../../support/open-for-tests.js';

const database = newDatabase();

const query = async (sql: string): Promise<Record<string, unknown>[]> =>
  (await database.pool.query<Record<string, unknown>>(sql)).rows;

/** Every column, constraint, index and view of the tables. */
const shape = (): Promise<unknown> =>
  query(`
    select table_schema || '.' || table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable as what
      from information_schema.columns where table_schema in ('read', 'service')
    union all
    select conrelid::regclass || ' ' || pg_get_constraintdef(oid)
      from pg_constraint where connamespace::regnamespace::text in ('read', 'service')
    union all select indexdef from pg_indexes where schemaname in ('read', 'service')
    order by 1`);

/** Converts the tables of this version to those of version 2.2.0, without most of their columns. */
const AS_VERSION_2_2_0 = `
  delete from read.later_migrations
    where name in ('0036-bounded-times', '0037-register', '0038-expiring-statuses', '0039-local-lists');
  alter table read.asset_statuses drop column expires_at, drop column followers;
  alter table read.asset_status_entries drop column expires_at;
  drop table read.register, read.register_brands, read.entries, read.register_clock, service.bounded_times,
    service.lists, service.list_versions, service.list_names;
  create table read.listed_records (organization text);
  create table read.brand_records ();
  create table read.reviewed_entries ();
  create table read.recording_clock ();`;

describe('The tables of version 2.2.0', () => {
  const tables = async (): Promise<unknown> =>
    (await query(`select tablename as name from pg_tables where schemaname in ('read', 'service') order by 1`)).map(
      ({ name }) => name,
    );

  it('stay beside those of this version if a projector has filled them, for processes of version 2.2.0', async () => {
    const expected = await tables();
    await query(`${AS_VERSION_2_2_0} insert into read.listed_records values ('acme');
      insert into read.checkpoints (projection, log_id, position, as_of) values ('records', 'log', 1, 1)`);
    await migrateReadModels(database.pool);
    const old = ['listed_records', 'brand_records', 'reviewed_entries', 'recording_clock'];
    expect(await tables()).toEqual([...(expected as string[]), ...old].sort());
    expect(await query('select * from read.listed_records')).toEqual([{ organization: 'acme' }]);
  });

  it('are dropped if they were never filled', async () => {
    const expected = await shape();
    await query(AS_VERSION_2_2_0);
    await migrateReadModels(database.pool);
    expect(await shape()).toEqual(expected);
  });
});

describe('The tables of this version', () => {
  it('are created again after the schema `read` was dropped, and the schema `service` is kept', async () => {
    const expected = await shape();
    await query(`insert into service.key_uses values ('k', 1); drop schema read cascade`);
    await migrateReadModels(database.pool);
    expect(await shape()).toEqual(expected);
    expect(await query('select * from service.key_uses')).toEqual([{ key_id: 'k', last_used_at: 1 }]);
  });

  it('are the same if the migration of expiring statuses runs twice', async () => {
    const expected = await shape();
    await query(`delete from read.later_migrations where name = '0038-expiring-statuses'`);
    await migrateReadModels(database.pool);
    expect(await shape()).toEqual(expected);
  });

  it.each([
    ['read models', 'delete from read.later_migrations'],
    ['progress of webhooks', 'drop schema read cascade; alter table service.webhook_progress add replay integer'],
  ])(
    'are not made from %s of a version before 2.1.0, and the error names the version in between',
    async (_, change) => {
      await query(change);
      await expect(migrateReadModels(database.pool)).rejects.toThrow(ConfigError);
      await expect(migrateReadModels(database.pool)).rejects.toThrow('Upgrade to 2.2.0 first');
    },
  );
});
