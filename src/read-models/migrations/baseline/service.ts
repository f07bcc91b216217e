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

/** Tables of the checkpoints, parked events and leases of the projections. */
export const ENGINE_TABLES: readonly string[] = [
  // Every batch updates these rows, so the fill factor leaves room for updates in the same page.
  `create table read.checkpoints (
    projection text collate "C" not null,
    log_id text not null,
    position bigint not null,
    as_of bigint not null,
    unknown bigint not null default 0,
    last_stream text,
    last_revision bigint,
    last_event_id uuid,
    version integer not null default 1,
    check (num_nulls(last_stream, last_revision, last_event_id) in (0, 3)),
    primary key (projection)
  ) with (fillfactor = 10)`,
  `create table read.parked_events (
    projection text collate "C" not null,
    event_id uuid not null,
    position bigint not null,
    stream text not null,
    revision bigint not null,
    type text not null,
    data json not null,
    metadata json not null,
    reason text not null,
    attempts integer not null default 1,
    parked_at bigint not null,
    recorded_at bigint,
    organization text collate "C",
    key_id text collate "C",
    unreadable boolean,
    change_id text collate "C",
    organizations text[] collate "C",
    primary key (projection, event_id)
  )`,
  `create index parked_events_by_position on read.parked_events (projection, position)`,
  `create index parked_events_of_organization on read.parked_events (organization, position, projection)`,
  `create index parked_events_of_key on read.parked_events (key_id, position, projection)`,
  `create index parked_events_by_id on read.parked_events (event_id)`,
  `create index parked_events_of_entries on read.parked_events (projection, position)
    where type in ('AssetStatusChanged', 'AssetStatusChangeDeleted')`,
  `create table read.projector_leases (
    lane text collate "C" not null,
    owner text not null,
    epoch bigint not null,
    expires_at bigint not null,
    wanted_until bigint not null default 0,
    primary key (lane)
  ) with (fillfactor = 10)`,
];

/** Tables of the brands, feature flags and webhook endpoints. */
export const ORGANIZATION_TABLES: readonly string[] = [
  `create table read.brands (
    organization text collate "C" not null,
    brand text collate "C" not null,
    name text,
    registered boolean not null,
    version bigint not null,
    event_id uuid not null,
    primary key (organization, brand)
  )`,
  `create table read.feature_flags (
    organization text collate "C" not null,
    flag text collate "C" not null,
    enabled boolean not null,
    version bigint not null,
    event_id uuid not null,
    primary key (organization, flag)
  )`,
  `create table read.webhook_endpoints (
    organization text collate "C" not null,
    id text collate "C" not null,
    state text collate "C" not null,
    created_at bigint not null,
    request_key_hash text collate "C",
    revision bigint not null,
    endpoint jsonb not null,
    primary key (organization, id)
  )`,
  `create index webhook_endpoints_living on read.webhook_endpoints (organization, id) where state <> 'DELETED'`,
  `create index webhook_endpoints_by_revision on read.webhook_endpoints (organization, revision)`,
  `create index webhook_endpoints_by_request on read.webhook_endpoints (organization, request_key_hash)
    where request_key_hash is not null`,
];
