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
