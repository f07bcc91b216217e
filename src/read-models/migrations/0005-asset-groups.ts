import { sql, type Kysely } from 'kysely';

export const up = async (db: Kysely<unknown>): Promise<void> => {
  // Rewritten by every transaction that touches the organization: the room left in its page keeps that in place.
  await sql`
    create table read.asset_group_streams (
      organization text collate "C" primary key,
      revision bigint not null,
      last_group_id bigint not null,
      latest_at bigint not null
    ) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02)`.execute(db);
  await sql`
    create table read.asset_groups (
      organization text collate "C" not null,
      group_id bigint not null,
      name text collate "C",
      revision bigint not null,
      primary key (organization, group_id)
    )`.execute(db);
  // Not unique: the stream is what keeps names apart, and a parked event that is retried late may pass another by.
  await sql`
    create index asset_groups_by_name on read.asset_groups (organization, name) where name is not null`.execute(db);
  await sql`
    create table read.asset_group_requests (
      organization text collate "C" not null,
      key_hash text collate "C" not null,
      body_hash text collate "C" not null,
      group_id bigint,
      answered_at bigint not null,
      revision bigint not null,
      primary key (organization, key_hash)
    )`.execute(db);
  await sql`
    create index asset_group_requests_by_age on read.asset_group_requests (organization, answered_at)`.execute(db);
  await sql`
    create table read.grouped_assets (
      organization text collate "C" not null,
      asset text collate "C" not null,
      group_id bigint,
      version bigint not null,
      event_id uuid not null,
      primary key (organization, asset)
    ) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02)`.execute(db);
  await sql`
    create table read.asset_group_counts (
      organization text collate "C" not null,
      group_id bigint not null,
      n bigint not null check (n > 0),
      primary key (organization, group_id)
    ) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02)`.execute(db);
};
