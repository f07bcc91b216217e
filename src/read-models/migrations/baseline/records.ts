/**
 * The records of lists and of the feed. If two indexes have the same cost, PostgreSQL uses the one that was created
 * last, so the order of these statements affects query plans.
 */
export const RECORD_TABLES: readonly string[] = [
  // Instants are negated in indexes, so that an index scan in one direction returns "newest first, then by id".
  `create table read.listed_records (
    organization text collate "C" not null,
    kind smallint not null,
    id text collate "C" not null,
    version bigint not null,
    event_id uuid not null,
    position bigint not null,
    stored_at bigint not null,
    created_at bigint,
    status text collate "C",
    type text collate "C",
    asset uuid,
    item text collate "C",
    primary key (organization, kind, id)
  ) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02)`,
  `create index listed_records_feed on read.listed_records (organization, kind, position)`,
  `create index listed_records_newest on read.listed_records (organization, kind, (-created_at), id)
    where created_at is not null`,
  `create index listed_records_by_status on read.listed_records (organization, kind, status, (-created_at), id)
    where status is not null`,
  `create index listed_records_by_type on read.listed_records (organization, kind, type, (-created_at), id)
    where type is not null`,
  `create index listed_records_by_status_and_type
    on read.listed_records (organization, kind, status, type, (-created_at), id)
    where status is not null and type is not null`,
  `create index listed_records_by_asset on read.listed_records (organization, kind, asset, (-created_at), id)
    where asset is not null`,
  `create table read.brand_records (
    organization text collate "C" not null,
    kind smallint not null,
    id text collate "C" not null,
    brand text collate "C" not null,
    at bigint not null,
    status text collate "C",
    type text collate "C",
    asset uuid,
    primary key (organization, kind, id, brand)
  ) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02)`,
  `create index brand_records_newest on read.brand_records (organization, kind, brand, (-at), id)`,
  `create index brand_records_by_status on read.brand_records (organization, kind, brand, status, (-at), id)
    where status is not null`,
  `create index brand_records_by_type on read.brand_records (organization, kind, brand, type, (-at), id)
    where type is not null`,
  `create index brand_records_by_status_and_type
    on read.brand_records (organization, kind, brand, status, type, (-at), id)
    where status is not null and type is not null`,
  `create index brand_records_by_asset on read.brand_records (organization, kind, brand, asset, (-at), id)
    where asset is not null`,
  `create table read.reviewed_entries (
    change_id text collate "C" not null,
    version bigint not null,
    event_id uuid not null,
    organizations text[] collate "C" not null,
    primary key (change_id)
  ) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02)`,
];

/** Tables of the counts, and of the takedowns from which durations are computed. */
export const METRIC_TABLES: readonly string[] = [
  `create table read.records (
    organization text collate "C" not null,
    kind text collate "C" not null,
    id text collate "C" not null,
    version bigint not null,
    event_id uuid not null,
    counts json not null,
    primary key (organization, kind, id)
  ) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02)`,
  `create table read.facts (
    organization text collate "C" not null,
    brand text collate "C" not null,
    at bigint not null,
    measure smallint not null,
    type text collate "C" not null,
    record text collate "C" not null,
    primary key (organization, brand, at, measure, type, record)
  ) with (autovacuum_vacuum_scale_factor = 0.02)`,
  // The index of the primary key includes `n`, so that a range needs only an index-only scan.
  `create table read.days (
    organization text collate "C" not null,
    brand text collate "C" not null,
    measure smallint not null,
    day integer not null,
    n bigint not null check (n >= 0),
    primary key (organization, brand, measure, day) include (n)
  ) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02)`,
  `create table read.type_days (
    organization text collate "C" not null,
    brand text collate "C" not null,
    day integer not null,
    type text collate "C" not null,
    n bigint not null check (n >= 0),
    primary key (organization, brand, day, type) include (n)
  ) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02)`,
  // Completed takedowns are indexed by duration, so that percentiles need no sorting.
  `create table read.takedowns (
    organization text collate "C" not null,
    id text collate "C" not null,
    version bigint not null,
    event_id uuid not null,
    brand text collate "C" not null,
    type text collate "C" not null,
    outcome smallint,
    created_at bigint,
    updated_at bigint,
    took bigint generated always as (case when outcome = 1 then updated_at - created_at end) stored,
    primary key (organization, id)
  ) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02)`,
  `create index takedowns_completed on read.takedowns (organization, type, took) include (updated_at)
    where outcome = 1`,
  `create index takedowns_withdrawn on read.takedowns (organization, created_at) include (outcome)
    where outcome in (2, 3)`,
  `create index takedowns_of_brand
    on read.takedowns (organization, brand, updated_at) include (outcome, type, took)
    where brand <> '' and outcome is not null`,
];

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
