/** Tables of data that the log does not contain: the progress of webhook deliveries, and the usage that requests cause. */
export const SERVICE_TABLES: readonly string[] = [
  `create table service.webhook_progress (
    endpoint text collate "C" not null,
    progress jsonb not null,
    primary key (endpoint)
  ) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02)`,
  `create table service.webhook_attempts (
    endpoint text collate "C" not null,
    number bigint not null,
    attempt json not null,
    primary key (endpoint, number)
  ) with (autovacuum_vacuum_scale_factor = 0.02)`,
  `create table service.webhook_outcomes (
    outcome text collate "C" not null,
    attempts bigint not null,
    primary key (outcome)
  ) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02)`,
  `create table service.webhook_tests (
    id uuid not null,
    organization text collate "C" not null,
    endpoint text collate "C" not null,
    requested_at bigint not null,
    answered_at bigint,
    result json,
    primary key (id)
  )`,
  `create index webhook_tests_waiting on service.webhook_tests (requested_at) where answered_at is null`,
  `create table service.ingest_usage (
    day integer not null,
    organization text collate "C" not null,
    events bigint not null,
    bytes bigint not null,
    primary key (day, organization)
  )`,
  `create table service.event_usage (
    owner text collate "C" not null,
    day integer not null,
    type text collate "C" not null,
    outcome text collate "C" not null,
    events bigint not null,
    primary key (owner, day, type, outcome)
  )`,
  `create index event_usage_by_day on service.event_usage (day)`,
  `create table service.rejections (
    owner text collate "C" not null,
    day integer not null,
    key_id text collate "C" not null,
    reason text collate "C" not null,
    type text collate "C" not null,
    count bigint not null,
    last_at bigint not null,
    sample json not null,
    primary key (owner, day, key_id, reason, type)
  )`,
  `create index rejections_by_day on service.rejections (day, owner, key_id, reason, type)`,
  `create table service.key_uses (
    key_id text collate "C" not null,
    last_used_at bigint not null,
    primary key (key_id)
  )`,
];
