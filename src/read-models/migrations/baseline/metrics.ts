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
