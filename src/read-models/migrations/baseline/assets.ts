/** Tables of the asset statuses and asset groups. */
export const ASSET_TABLES: readonly string[] = [
  // The key of an asset can exceed the maximum size of an index entry, so the hash of the key is indexed.
  `create table read.asset_statuses (
    asset_hash text collate "C" not null,
    asset text collate "C" not null,
    status text collate "C" not null,
    created_at bigint,
    position bigint not null,
    content text collate "C",
    primary key (asset_hash)
  ) with (autovacuum_vacuum_scale_factor = 0.02)`,
  `create index asset_statuses_changes on read.asset_statuses (position, asset_hash)`,
  `create table read.asset_status_entries (
    change_id text collate "C" not null,
    asset_hash text collate "C" not null,
    asset text collate "C" not null,
    status text collate "C",
    version bigint not null,
    event_id uuid not null,
    reviews text[] collate "C",
    content text collate "C",
    primary key (change_id)
  ) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02)`,
  `create index asset_status_entries_newest on read.asset_status_entries (asset_hash, version desc, event_id desc)`,
  // Names are unique in the stream. Names are not unique in the table, because a parked event that is retried may
  // repeat a name.
  `create table read.asset_groups (
    organization text collate "C" not null,
    group_id bigint not null,
    name text collate "C",
    revision bigint not null,
    primary key (organization, group_id)
  )`,
  `create index asset_groups_by_name on read.asset_groups (organization, name) where name is not null`,
  // Every transaction of the organization updates its row, so the fill factor leaves room for updates in the same page.
  `create table read.asset_group_streams (
    organization text collate "C" not null,
    revision bigint not null,
    last_group_id bigint not null,
    latest_at bigint not null,
    primary key (organization)
  ) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02)`,
  `create table read.asset_group_requests (
    organization text collate "C" not null,
    key_hash text collate "C" not null,
    body_hash text collate "C" not null,
    group_id bigint,
    answered_at bigint not null,
    revision bigint not null,
    primary key (organization, key_hash)
  )`,
  `create index asset_group_requests_by_age on read.asset_group_requests (organization, answered_at)`,
  `create table read.asset_group_counts (
    organization text collate "C" not null,
    group_id bigint not null,
    n bigint not null check (n > 0),
    primary key (organization, group_id)
  ) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02)`,
  `create table read.grouped_assets (
    organization text collate "C" not null,
    asset text collate "C" not null,
    group_id bigint,
    version bigint not null,
    event_id uuid not null,
    type text collate "C",
    content text collate "C",
    primary key (organization, asset)
  ) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02)`,
  `create index grouped_assets_members on read.grouped_assets (organization, group_id, asset)
    where group_id is not null`,
];
