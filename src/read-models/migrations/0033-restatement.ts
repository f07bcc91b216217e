/**
 * Adds what the metrics of the past are computed from. The projection `metrics` of this version fills the tables in a
 * rebuild after the upgrade; until then, requests for the past are rejected.
 */
export const statements = [
  `alter table read.records add column if not exists position bigint not null default 0,
    add column if not exists named text[] collate "C"`,
  `alter table read.facts add column if not exists since bigint not null default 0,
    add column if not exists lag smallint not null default 0`,
  // Most facts are stored on the day of their instant. A query for the past examines only the others.
  `create index if not exists facts_displaced on read.facts (organization, brand, lag, at)
    where lag <> 0`,
  `create table if not exists read.former_states (
    organization text collate "C" not null,
    kind text collate "C" not null,
    id text collate "C" not null,
    position bigint not null,
    version bigint not null,
    event_id uuid not null,
    counts json not null,
    named text[] collate "C",
    primary key (organization, kind, id, position)
  ) with (autovacuum_vacuum_scale_factor = 0.02)`,
  `create table if not exists read.former_facts (
    organization text collate "C" not null,
    brand text collate "C" not null,
    at bigint not null,
    measure smallint not null,
    type text collate "C" not null,
    record text collate "C" not null,
    since bigint not null,
    until bigint not null,
    span smallint not null,
    primary key (organization, brand, span, since, at, measure, type, record) include (until)
  ) with (autovacuum_vacuum_scale_factor = 0.02)`,
  `create table if not exists read.log_clock (
    position bigint primary key,
    recorded_at bigint not null
  )`,
  'create index if not exists log_clock_by_time on read.log_clock (recorded_at) include (position)',
];
