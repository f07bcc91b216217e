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
