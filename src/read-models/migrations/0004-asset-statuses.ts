import { sql, type Kysely } from 'kysely';

export const up = async (db: Kysely<unknown>): Promise<void> => {
  // An asset's key can be longer than an index takes, so its hash stands for it.
  await sql`
    create table read.asset_status_entries (
      change_id text collate "C" primary key,
      asset_hash text collate "C" not null,
      asset text collate "C" not null,
      status text collate "C",
      version bigint not null,
      event_id uuid not null
    ) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02)`.execute(db);
  await sql`
    create index asset_status_entries_newest
      on read.asset_status_entries (asset_hash, version desc, event_id desc)`.execute(db);
  await sql`
    create table read.asset_statuses (
      asset_hash text collate "C" primary key,
      asset text collate "C" not null,
      status text collate "C" not null,
      created_at bigint,
      position bigint not null
    ) with (autovacuum_vacuum_scale_factor = 0.02)`.execute(db);
  await sql`create index asset_statuses_changes on read.asset_statuses (position, asset_hash)`.execute(db);
};
