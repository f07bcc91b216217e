-- The tables, constraints, indexes and functions as they are after all migrations, with the comments of
-- src/read-models/tables. `npm run record` writes this file, and a spec compares it, so that a change of a table shows as
-- a difference. PostgreSQL never reads it.

create table log.erased (
  digest text collate "C" not null,
  log_id text not null,
  PRIMARY KEY (digest)
);

create table log.events (
  position bigint not null,
  stream text collate "C" not null,
  revision bigint not null,
  event_id uuid not null,
  type text not null,
  data json not null,
  metadata json not null,
  recorded_at bigint not null,
  PRIMARY KEY ("position"),
  UNIQUE (event_id),
  UNIQUE (stream, revision)
);

-- How many assets are in a group. An empty group has no row.
create table read.asset_group_counts (
  organization text collate "C" not null,
  group_id bigint not null,
  n bigint not null,
  PRIMARY KEY (organization, group_id),
  CHECK ((n > 0))
) with (fillfactor=70, autovacuum_vacuum_scale_factor=0.02);

-- The first response to each request with an `Idempotency-Key`.
create table read.asset_group_requests (
  organization text collate "C" not null,
  key_hash text collate "C" not null,
  body_hash text collate "C" not null,
  -- The group that was created. Null: the request was rejected because the name was taken.
  group_id bigint,
  -- ms
  answered_at bigint not null,
  revision bigint not null,
  PRIMARY KEY (organization, key_hash)
);
CREATE INDEX asset_group_requests_by_age ON read.asset_group_requests USING btree (organization, answered_at);

-- The progress of the projection for each organization.
create table read.asset_group_streams (
  organization text collate "C" not null,
  -- Last applied revision of the stream `assetGroups-{organization}`; -1 if only events about assets were applied.
  revision bigint not null,
  -- The highest group id ever assigned, including deleted groups.
  last_group_id bigint not null,
  -- The latest instant of an event of the stream (ms). Responses to older idempotent requests are deleted.
  latest_at bigint not null,
  PRIMARY KEY (organization)
) with (fillfactor=50, autovacuum_vacuum_scale_factor=0.02);

-- One last-writer-wins row per group, including deleted groups.
create table read.asset_groups (
  organization text collate "C" not null,
  group_id bigint not null,
  -- Null: the group is deleted.
  name text collate "C",
  revision bigint not null,
  PRIMARY KEY (organization, group_id)
);
CREATE INDEX asset_groups_by_name ON read.asset_groups USING btree (organization, name) WHERE (name IS NOT NULL);

-- The status history: each entry in its newest state, including deleted entries.
create table read.asset_status_entries (
  change_id text collate "C" not null,
  asset_hash text collate "C" not null,
  -- The normalised key.
  asset text collate "C" not null,
  -- Null: the entry is deleted.
  status text collate "C",
  version bigint not null,
  event_id uuid not null,
  -- `organization:brand` of each review. Null: the entry is deleted, or the row was written before this column existed.
  reviews text[] collate "C",
  -- The content of the asset as reported. Null: the row was written before this column existed; a rebuild fills the
  -- column.
  content text collate "C",
  -- From when on the entry does not determine the status any more (ms). Null: never.
  expires_at bigint,
  PRIMARY KEY (change_id)
) with (fillfactor=90, autovacuum_vacuum_scale_factor=0.02);
CREATE INDEX asset_status_entries_newest ON read.asset_status_entries USING btree (asset_hash, version DESC, event_id DESC);

-- The newest status of each asset, even if it has expired. Rows are never deleted, so that processes that poll by
-- position see every change.
create table read.asset_statuses (
  asset_hash text collate "C" not null,
  -- The normalised key.
  asset text collate "C" not null,
  status text collate "C" not null,
  -- When the entry that determines the status was created (ms). Null: there is no such entry.
  created_at bigint,
  -- Position in the log of the last event about the asset.
  position bigint not null,
  -- The content of the asset as reported by the entry that determines the status. Null: there is no such entry, or the
  -- row was written before this column existed.
  content text collate "C",
  -- From when on the entry does not determine the status any more (ms). Null: never.
  expires_at bigint,
  -- The entries that determine the status after each other from `expires_at` on, as `Follower` in `status-record.ts`.
  -- Null: none.
  followers jsonb,
  PRIMARY KEY (asset_hash)
) with (autovacuum_vacuum_scale_factor=0.02);
CREATE INDEX asset_statuses_changes ON read.asset_statuses USING btree ("position", asset_hash);

-- Brands, including removed brands.
create table read.brands (
  organization text collate "C" not null,
  brand text collate "C" not null,
  name text,
  registered boolean not null,
  version bigint not null,
  event_id uuid not null,
  PRIMARY KEY (organization, brand)
);

-- What to add to `type_days` of organizations, so that each threat counts on the day and as the type of its first
-- counting.
create table read.changed_threat_days (
  organization text collate "C" not null,
  day integer not null,
  type text collate "C" not null,
  -- May be negative.
  counted bigint not null,
  -- The number of these threats whose newest state does not count.
  false_positives bigint not null,
  PRIMARY KEY (organization, day, type),
  CHECK ((false_positives >= 0))
) with (fillfactor=70, autovacuum_vacuum_scale_factor=0.02);

-- The threats whose newest state does not count as the threat counted first. All other threats that ever counted are
-- among the facts.
create table read.changed_threats (
  organization text collate "C" not null,
  id text collate "C" not null,
  -- The earliest instant at which any state of the threat counts, in ms.
  counted_at bigint not null,
  -- The asset type of that state.
  type text collate "C" not null,
  -- With what the newest state counts. Null: it does not count, so the threat is a false positive.
  newest_at bigint,
  newest_type text collate "C",
  PRIMARY KEY (organization, id)
) with (autovacuum_vacuum_scale_factor=0.02);
CREATE INDEX changed_threats_by_newest ON read.changed_threats USING btree (organization, newest_at) INCLUDE (newest_type) WHERE (newest_at IS NOT NULL);
CREATE INDEX changed_threats_by_time ON read.changed_threats USING btree (organization, counted_at) INCLUDE (type, newest_at);

-- The progress of each projection.
create table read.checkpoints (
  projection text collate "C" not null,
  log_id text not null,
  position bigint not null,
  -- The rows include everything that was acknowledged before this instant (ms).
  as_of bigint not null,
  -- Number of events that were skipped because their type is unknown.
  unknown bigint not null default 0,
  -- The event at `position`. Null: no event has been applied yet.
  last_stream text,
  last_revision bigint,
  last_event_id uuid,
  -- Version of the projection that wrote the rows.
  version integer not null default 1,
  -- When the projection last applied an event, in ms by the database's clock. Null: never, or by version 2.1.
  applied_at bigint,
  PRIMARY KEY (projection),
  CHECK ((num_nulls(last_stream, last_revision, last_event_id) = ANY (ARRAY[0, 3])))
) with (fillfactor=10);

-- Number of facts per UTC day.
create table read.days (
  organization text collate "C" not null,
  brand text collate "C" not null,
  measure smallint not null,
  day integer not null,
  n bigint not null,
  PRIMARY KEY (organization, brand, measure, day) INCLUDE (n),
  CHECK ((n >= 0))
) with (fillfactor=90, autovacuum_vacuum_scale_factor=0.02);

-- One row per dispute, written by the projection `register`. If a resolution or a redaction is stored before the
-- dispute, the columns of the dispute are null until the dispute arrives.
create table read.disputes (
  organization text collate "C" not null,
  id text collate "C" not null,
  -- The hash of the disputed asset's normalised key.
  asset uuid,
  -- ms
  created_at bigint,
  -- ms. Null: the dispute is open.
  resolved_at bigint,
  -- ACCEPTED or REJECTED.
  outcome text collate "C",
  -- Hash of the `Idempotency-Key` of the request that filed the dispute.
  request_key_hash text collate "C",
  -- Revision of `DisputeFiled` in the stream `disputes-{organization}`.
  revision bigint,
  -- `DisputeFiled` as JSON: `eventId`, `position`, `recordedAt` and `data`.
  filed text collate "C",
  -- The newest `DisputeResolved` in the same form.
  resolution text collate "C",
  -- The last `ContentRedacted` as JSON: `position` and `recordedAt`.
  redaction text collate "C",
  PRIMARY KEY (organization, id)
);
CREATE INDEX disputes_by_request ON read.disputes USING btree (organization, request_key_hash) WHERE (request_key_hash IS NOT NULL);
CREATE INDEX disputes_by_revision ON read.disputes USING btree (organization, revision);
CREATE INDEX disputes_by_time ON read.disputes USING btree (organization, created_at) INCLUDE (resolved_at, outcome) WHERE (created_at IS NOT NULL);
CREATE INDEX disputes_open ON read.disputes USING btree (organization, asset) WHERE ((created_at IS NOT NULL) AND (resolved_at IS NULL));

-- One last-writer-wins row per entry of the status history, including deleted entries.
create table read.entries (
  change_id text collate "C" not null,
  version bigint not null,
  event_id uuid not null,
  -- All organizations that have or had a verdict from this entry.
  organizations text[] collate "C" not null,
  -- The place of the entry's only state, as in `register`, which has the contents of the state. Null: the entry has a
  -- history.
  position bigint,
  -- ms
  stored_at bigint,
  added_at bigint,
  -- What the verdicts of the entry are computed from (`EntryHistory` in `entry-history.ts`). Null: its only state.
  history jsonb,
  PRIMARY KEY (change_id),
  CHECK ((num_nulls("position", history) = 1))
) with (fillfactor=90, autovacuum_vacuum_scale_factor=0.02);

-- One row per counted fact. `brand` is '' for the organization as a whole.
create table read.facts (
  organization text collate "C" not null,
  brand text collate "C" not null,
  -- ms
  at bigint not null,
  measure smallint not null,
  type text collate "C" not null,
  record text collate "C" not null,
  -- Position in the log of the event with which the fact began to count, without a break until now.
  since bigint not null default 0,
  -- How many days after its own day the fact was stored, as a class: see `lagOf`.
  lag smallint not null default 0,
  PRIMARY KEY (organization, brand, at, measure, type, record)
) with (autovacuum_vacuum_scale_factor=0.02);
CREATE INDEX facts_displaced ON read.facts USING btree (organization, brand, lag, at) WHERE (lag <> 0);

create table read.feature_flags (
  organization text collate "C" not null,
  flag text collate "C" not null,
  enabled boolean not null,
  version bigint not null,
  event_id uuid not null,
  PRIMARY KEY (organization, flag)
);

-- Facts that counted for events at the positions from `since` to the one before `until`, and do not count any more.
create table read.former_facts (
  organization text collate "C" not null,
  brand text collate "C" not null,
  -- ms
  at bigint not null,
  measure smallint not null,
  type text collate "C" not null,
  record text collate "C" not null,
  since bigint not null,
  until bigint not null,
  -- The number of hexadecimal digits of `until` less `since`.
  span smallint not null,
  PRIMARY KEY (organization, brand, span, since, at, measure, type, record) INCLUDE (until)
) with (autovacuum_vacuum_scale_factor=0.02);

-- The states of a record that were newer than all states stored before them, except the newest one, which is in
-- `records`.
create table read.former_states (
  organization text collate "C" not null,
  kind text collate "C" not null,
  id text collate "C" not null,
  position bigint not null,
  version bigint not null,
  event_id uuid not null,
  counts json not null,
  named text[] collate "C",
  PRIMARY KEY (organization, kind, id, "position")
) with (autovacuum_vacuum_scale_factor=0.02);

-- One last-writer-wins row per asset: the group that its newest event names, even if that group does not exist.
create table read.grouped_assets (
  organization text collate "C" not null,
  -- The hash of the asset's normalised key.
  asset text collate "C" not null,
  -- Null: the asset is in no group.
  group_id bigint,
  version bigint not null,
  event_id uuid not null,
  -- The asset type as reported. Null: the asset is in no group, or the row was stored by a version without this column
  -- and the next column.
  type text collate "C",
  content text collate "C",
  PRIMARY KEY (organization, asset)
) with (fillfactor=90, autovacuum_vacuum_scale_factor=0.02);
CREATE INDEX grouped_assets_members ON read.grouped_assets USING btree (organization, group_id, asset) WHERE (group_id IS NOT NULL);

-- The first event of each millisecond that is later than the time of every event before it.
create table read.log_clock (
  position bigint not null,
  -- ms, by the clock of the log
  recorded_at bigint not null,
  PRIMARY KEY ("position")
);
CREATE INDEX log_clock_by_time ON read.log_clock USING btree (recorded_at) INCLUDE ("position");

-- Events that a projection could not apply, kept until an operator retries or drops them.
create table read.parked_events (
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
  -- ms
  parked_at bigint not null,
  -- When the log stored the event (ms). Null: the event was parked by a version that did not store this time.
  recorded_at bigint,
  -- The organization of the record. Null: the organization is unknown, or the record concerns more than one
  -- organization.
  organization text collate "C",
  -- The key that sent the event. Null: the key is unknown.
  key_id text collate "C",
  -- Whether the event is invalid, so that its sender may see the reason. Null: the event was parked by a version that
  -- did not store this value.
  unreadable boolean,
  -- Unused. Version 2.2 writes and reads this column.
  change_id text collate "C",
  -- Version 2.2 wrote the organizations in the reviews of an entry, and reads them. Null: a later version, or none.
  organizations text[] collate "C",
  PRIMARY KEY (projection, event_id)
);
CREATE INDEX parked_events_by_id ON read.parked_events USING btree (event_id);
CREATE INDEX parked_events_by_position ON read.parked_events USING btree (projection, "position");
CREATE INDEX parked_events_of_entries ON read.parked_events USING btree (projection, "position") WHERE (type = ANY (ARRAY['AssetStatusChanged'::text, 'AssetStatusChangeDeleted'::text]));
CREATE INDEX parked_events_of_key ON read.parked_events USING btree (key_id, "position", projection);
CREATE INDEX parked_events_of_organization ON read.parked_events USING btree (organization, "position", projection);

-- The projector that works in each lane.
create table read.projector_leases (
  lane text collate "C" not null,
  owner text not null,
  epoch bigint not null,
  -- ms, by the database's clock
  expires_at bigint not null,
  -- Until this instant, another projector without a lane waits for this lane. ms, by the database's clock
  wanted_until bigint not null default 0,
  PRIMARY KEY (lane)
) with (fillfactor=10);

-- One last-writer-wins row per record, including deleted records.
create table read.records (
  organization text collate "C" not null,
  kind text collate "C" not null,
  id text collate "C" not null,
  version bigint not null,
  event_id uuid not null,
  -- The facts that are counted for the newest state. Empty: the state is not counted.
  counts json not null,
  -- Position in the log of the event of the state.
  position bigint not null default 0,
  -- Organizations that the state concerns although it has no facts of theirs. Null: none.
  named text[] collate "C",
  PRIMARY KEY (organization, kind, id)
) with (fillfactor=90, autovacuum_vacuum_scale_factor=0.02);

-- One row for each record and each organization that the record concerns, including deleted records. Reports, threats
-- and takedowns are last-writer-wins rows; verdicts are derived from `entries`, and disputes from `disputes`.
create table read.register (
  -- A UUIDv5 of organization, kind and id, which is also that of the record's object in TAXII.
  record uuid not null,
  organization text collate "C" not null,
  -- As in `listed-items.ts`.
  kind smallint not null,
  id text collate "C" not null,
  version bigint not null,
  -- The event of the state. Together with the version, it decides which of two states is newer.
  event_id uuid not null,
  -- Position in the log of the event that last changed the row. The feed is in this order.
  position bigint not null,
  -- The event at the position, if it is not the event of the state: after a redaction, `ContentRedacted`.
  moved_by uuid,
  -- When the log stored the event at the position. ms
  stored_at bigint not null,
  -- `stored_at`, but ascending with `position` even if a clock was set back (`register-clock.ts`).
  added_at bigint not null,
  -- When the log stored the first event of the record, as `added_at`. Null for disputes.
  first_added_at bigint,
  -- Whether any state of the record has counted as a blocked threat. Only then, TAXII has an object of it.
  has_counted boolean not null,
  -- ms. This and the following columns are null if the record was deleted or no longer concerns the organization.
  created_at bigint,
  -- Null for reports, which have neither a status nor an asset.
  status text collate "C",
  type text collate "C",
  -- The hash of the asset's normalised key. Null also after a redaction.
  asset uuid,
  content text collate "C",
  -- In the order of the item. Null for threats and disputes.
  brands text[] collate "C",
  -- The item of a dispute as JSON. The items of other records are computed from the columns (`item.ts`).
  item text collate "C",
  -- From when on the entry of a verdict does not determine the status of its asset any more (ms). Null: never.
  expires_at bigint,
  PRIMARY KEY (record)
) with (fillfactor=90, autovacuum_vacuum_scale_factor=0.02);
CREATE INDEX register_by_asset ON read.register USING btree (organization, kind, asset, ((- created_at)), id) WHERE (asset IS NOT NULL);
CREATE INDEX register_feed ON read.register USING btree (organization, kind, "position");
CREATE INDEX register_list ON read.register USING btree (organization, kind, COALESCE(status, ''::text), COALESCE(type, ''::text), ((- created_at)), id) WHERE (created_at IS NOT NULL);
CREATE INDEX register_objects ON read.register USING btree (organization, kind, added_at, "position") WHERE has_counted;

-- The brands of the records in the register, with the columns for filters. Deleted records have none.
create table read.register_brands (
  record uuid not null,
  organization text collate "C" not null,
  kind smallint not null,
  id text collate "C" not null,
  brand text collate "C" not null,
  -- The instant at which the metrics of the brand count the record (ms): the last change of a takedown, otherwise the
  -- creation.
  at bigint not null,
  status text collate "C",
  type text collate "C",
  asset uuid,
  PRIMARY KEY (record, brand)
) with (fillfactor=90, autovacuum_vacuum_scale_factor=0.02);
CREATE INDEX register_brands_by_asset ON read.register_brands USING btree (organization, kind, brand, asset, ((- at)), id) WHERE (asset IS NOT NULL);
CREATE INDEX register_brands_list ON read.register_brands USING btree (organization, kind, brand, COALESCE(status, ''::text), COALESCE(type, ''::text), ((- at)), id);

-- The last millisecond in which the log stored an event. At most one row.
create table read.register_clock (
  singleton boolean not null,
  -- The position of its first event.
  position bigint not null,
  -- ms, by the clock of the log
  recorded_at bigint not null,
  added_at bigint not null,
  PRIMARY KEY (singleton),
  CHECK (singleton)
);

-- One last-writer-wins row per takedown, including deleted takedowns.
create table read.takedowns (
  organization text collate "C" not null,
  id text collate "C" not null,
  version bigint not null,
  event_id uuid not null,
  -- '': the takedown has no brand.
  brand text collate "C" not null,
  type text collate "C" not null,
  -- One of the outcomes above. Null: the takedown is deleted.
  outcome smallint,
  -- ms
  created_at bigint,
  -- ms. For a completed takedown, this is the completion.
  updated_at bigint,
  -- Duration of a completed takedown. ms
  took bigint default 
CASE
    WHEN (outcome = 1) THEN (updated_at - created_at)
    ELSE NULL::bigint
END,
  PRIMARY KEY (organization, id)
) with (fillfactor=90, autovacuum_vacuum_scale_factor=0.02);
CREATE INDEX takedowns_completed ON read.takedowns USING btree (organization, type, took) INCLUDE (updated_at) WHERE (outcome = 1);
CREATE INDEX takedowns_of_brand ON read.takedowns USING btree (organization, brand, updated_at) INCLUDE (outcome, type, took) WHERE ((brand <> ''::text) AND (outcome IS NOT NULL));
CREATE INDEX takedowns_withdrawn ON read.takedowns USING btree (organization, created_at) INCLUDE (outcome) WHERE (outcome = ANY (ARRAY[2, 3]));

-- Number of threats per asset type and UTC day.
create table read.type_days (
  organization text collate "C" not null,
  brand text collate "C" not null,
  day integer not null,
  type text collate "C" not null,
  n bigint not null,
  PRIMARY KEY (organization, brand, day, type) INCLUDE (n),
  CHECK ((n >= 0))
) with (fillfactor=90, autovacuum_vacuum_scale_factor=0.02);

-- One row per webhook endpoint, including deleted endpoints, in its newest revision.
create table read.webhook_endpoints (
  organization text collate "C" not null,
  id text collate "C" not null,
  -- ACTIVE, DISABLED or DELETED.
  state text collate "C" not null,
  -- ms
  created_at bigint not null,
  -- Hash of the `Idempotency-Key` of the request that created the endpoint. Null: the request had no `Idempotency-Key`.
  request_key_hash text collate "C",
  -- Revision in the stream `webhooks-{organization}`.
  revision bigint not null,
  -- The `data` of the event with that revision, which contains the complete endpoint.
  endpoint jsonb not null,
  PRIMARY KEY (organization, id)
);
CREATE INDEX webhook_endpoints_by_request ON read.webhook_endpoints USING btree (organization, request_key_hash) WHERE (request_key_hash IS NOT NULL);
CREATE INDEX webhook_endpoints_by_revision ON read.webhook_endpoints USING btree (organization, revision);
CREATE INDEX webhook_endpoints_deleted ON read.webhook_endpoints USING btree (id) WHERE (state = 'DELETED'::text);
CREATE INDEX webhook_endpoints_living ON read.webhook_endpoints USING btree (organization, id) WHERE (state <> 'DELETED'::text);

-- The events that the log stored with a time ahead of the database's clock. The read models and every rebuild use
-- `seen_at` instead, so the rows outlive the read models.
create table service.bounded_times (
  position bigint not null,
  -- When a projector first read the event, in ms by the database's clock.
  seen_at bigint not null,
  PRIMARY KEY ("position")
);

-- Whom to ask about a dispute. The log does not contain the contacts, so that they can be erased.
create table service.dispute_contacts (
  organization text collate "C" not null,
  dispute text collate "C" not null,
  contact text not null,
  -- ms
  stored_at bigint not null,
  PRIMARY KEY (organization, dispute)
);

-- Digests of the slugs, keys and webhook endpoints of erased organizations, as `erasureDigest` returns them.
create table service.erased_names (
  digest text collate "C" not null,
  log_id text not null,
  PRIMARY KEY (digest)
);

-- The erasures that have not finished.
create table service.erasures (
  -- The digest of the slug.
  digest text collate "C" not null,
  -- ms
  started_at bigint not null,
  -- The position of `OrganizationErasureStarted`. No later event is about the organization.
  position bigint not null,
  -- The first position whose event has not been rewritten yet.
  next bigint not null,
  -- Number of rewritten events by type.
  events jsonb not null default '{}'::jsonb,
  -- Number of deleted or changed rows by table.
  rows jsonb not null default '{}'::jsonb,
  first_position bigint,
  last_position bigint,
  PRIMARY KEY (digest)
);

-- Number of events per owner (an organization, or a key without an organization), UTC day, type and outcome.
create table service.event_usage (
  owner text collate "C" not null,
  -- Days since 1970.
  day integer not null,
  -- An upstream type, or `other`.
  type text collate "C" not null,
  outcome text collate "C" not null,
  events bigint not null,
  PRIMARY KEY (owner, day, type, outcome)
);
CREATE INDEX event_usage_by_day ON service.event_usage USING btree (day);

-- Events and bytes that organizations have sent with their own ingest keys, per UTC day.
create table service.ingest_usage (
  -- Days since 1970.
  day integer not null,
  organization text collate "C" not null,
  events bigint not null,
  bytes bigint not null,
  PRIMARY KEY (day, organization)
);

-- When each key was last used successfully.
create table service.key_uses (
  key_id text collate "C" not null,
  -- ms
  last_used_at bigint not null,
  PRIMARY KEY (key_id)
);

-- The expressions behind hashes, for clients that need names or whole hashes. Only those that such clients can use.
create table service.list_names (
  hash bytea not null,
  -- Whether `ask-8b` has the expression; otherwise another list.
  is_ask boolean not null,
  expression text collate "C" not null,
  -- The host, written backwards, at or below which something is not blocked. Absent: the content is blocked.
  exception_host text collate "C",
  -- The hash of the asset whose own status it is, by which a redaction finds the name; empty for an entry of a list.
  -- Absent if a redaction could not find it: the row is then deleted once no list has the expression.
  asset_hash text collate "C",
  -- Since when no list has the expression, in ms.
  unlisted_at bigint,
  PRIMARY KEY (hash, is_ask)
);
CREATE INDEX list_names_exceptions ON service.list_names USING btree (exception_host) WHERE ((exception_host IS NOT NULL) AND (unlisted_at IS NULL));
CREATE INDEX list_names_of_own ON service.list_names USING btree (asset_hash) WHERE (asset_hash <> ''::text);
CREATE INDEX list_names_unlisted ON service.list_names USING btree (unlisted_at) WHERE (unlisted_at IS NOT NULL);

-- What each version removed from the version before, and added. Version 0 is the empty list and has no row.
create table service.list_versions (
  name text collate "C" not null,
  number bigint not null,
  -- When the version was built, in ms.
  cut_at bigint not null,
  sha256 bytea not null,
  removed bytea not null,
  added bytea not null,
  -- All hashes of the version. Only one version of a list has them.
  hashes bytea,
  PRIMARY KEY (name, number)
);
CREATE INDEX list_versions_by_cut ON service.list_versions USING btree (cut_at);
CREATE INDEX list_versions_whole ON service.list_versions USING btree (name, number) WHERE (hashes IS NOT NULL);

-- The newest version of each list.
create table service.lists (
  name text collate "C" not null,
  number bigint not null,
  -- The checksum of all hashes.
  sha256 bytea not null,
  -- The sources that the lists contain.
  covers json not null,
  not_covered json not null,
  -- The version has everything that was stored before this instant, in ms. Moves on at least hourly.
  cut_at bigint not null,
  signature bytea,
  -- Base64. Absent: the version is not signed.
  public_key text,
  -- When the version was last found to be current, in ms.
  checked_at bigint not null,
  -- Whether `list_names` has the names of what is listed.
  has_names boolean not null default false,
  PRIMARY KEY (name)
);

-- Number of rejected events per owner (an organization, or a key without an organization), UTC day, key, reason and
-- type.
create table service.rejections (
  owner text collate "C" not null,
  -- Days since 1970.
  day integer not null,
  key_id text collate "C" not null,
  reason text collate "C" not null,
  -- An upstream type, or `other`.
  type text collate "C" not null,
  count bigint not null,
  -- ms
  last_at bigint not null,
  -- The first rejected event.
  sample json not null,
  PRIMARY KEY (owner, day, key_id, reason, type)
);
CREATE INDEX rejections_by_day ON service.rejections USING btree (day, owner, key_id, reason, type);

-- The newest 100 attempts of each endpoint, including tests.
create table service.webhook_attempts (
  endpoint text collate "C" not null,
  -- Consecutive number of the attempt within the endpoint.
  number bigint not null,
  -- `StoredAttempt`.
  attempt json not null,
  PRIMARY KEY (endpoint, number)
) with (autovacuum_vacuum_scale_factor=0.02);

-- Number of delivery attempts per outcome: delivered, refused or unanswered.
create table service.webhook_outcomes (
  outcome text collate "C" not null,
  attempts bigint not null,
  PRIMARY KEY (outcome)
) with (fillfactor=50, autovacuum_vacuum_scale_factor=0.02);

-- The progress of deliveries to each endpoint that is not deleted.
create table service.webhook_progress (
  endpoint text collate "C" not null,
  -- `StoredProgress`.
  progress jsonb not null,
  PRIMARY KEY (endpoint)
) with (fillfactor=50, autovacuum_vacuum_scale_factor=0.02);

-- Tests that the API requested from the delivery process, and their results. Rows are deleted after a minute.
create table service.webhook_tests (
  id uuid not null,
  organization text collate "C" not null,
  endpoint text collate "C" not null,
  -- ms
  requested_at bigint not null,
  -- ms. Null: the test is pending.
  answered_at bigint,
  -- `{ webhookId, status?, error?, answer?, took }`; `took` is in ms, and `error` is absent if the test succeeded.
  result json,
  PRIMARY KEY (id)
);
CREATE INDEX webhook_tests_by_time ON service.webhook_tests USING btree (requested_at);
CREATE INDEX webhook_tests_waiting ON service.webhook_tests USING btree (requested_at) WHERE (answered_at IS NULL);

CREATE OR REPLACE FUNCTION log.append(requests integer[], streams text[], expected bigint[], ids uuid[], types text[], data text[], metadata text[])
 RETURNS TABLE(outcome text, "position" bigint, revision bigint, stream_revision bigint)
 LANGUAGE plpgsql
AS $function$
      #variable_conflict use_column
      begin
        perform pg_advisory_xact_lock(20261121);
        if exists (select from log.erased) and exists (
          select from unnest(streams, types, data) e (stream, type, data),
            log.organizations_of(e.stream, e.type, e.data::json) o (organization)
          where log.is_erased(o.organization)
        ) then
          raise exception 'An organization of these events was erased' using errcode = 'TP001';
        end if;
        return query select * from log.append_unchecked(requests, streams, expected, ids, types, data, metadata);
      end
      $function$;

CREATE OR REPLACE FUNCTION log.append_unchecked(requests integer[], streams text[], expected bigint[], ids uuid[], types text[], data text[], metadata text[])
 RETURNS TABLE(outcome text, "position" bigint, revision bigint, stream_revision bigint)
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
AS $function$
      #variable_conflict use_column
      declare
        last_position bigint;
        clock bigint;
        head bigint;
        wanted uuid[];
        known int;
        known_here int;
        refused boolean := false;
      begin
        perform pg_advisory_xact_lock(20261121);
        select coalesce(max(e.position), -1) into last_position from log.events e;
        clock := floor(extract(epoch from clock_timestamp()) * 1000);
        if cardinality(ids) >= 16 and array_remove(expected, null) = '{}' then
          return query
          with entries as materialized (
            select u.*,
              (select array[e.position, e.revision] from log.events e where e.event_id = u.id) as known,
              (select max(e.revision) from log.events e where e.stream = u.stream) as head
            from unnest(streams, ids, types, data, metadata) with ordinality u (stream, id, type, data, metadata, n)
          ), decided as (
            select *, known is null and row_number() over (partition by id order by n) = 1 as is_new from entries
          ), numbered as materialized (
            select *,
              last_position + count(*) filter (where is_new) over (order by n) as position,
              coalesce(head, -1) + count(*) filter (where is_new) over (partition by stream order by n) as revision
            from decided
          ), inserted as (
            insert into log.events (position, stream, revision, event_id, type, data, metadata, recorded_at)
            select position, stream, revision, id, type, data::json, metadata::json, clock
            from numbered where is_new order by position
          ), answers as (
            -- The first entry of an event is the one that stored it, unless the log knew the event before.
            select n, is_new, coalesce(known[1], first_value(position) over same_id) as position,
              coalesce(known[2], first_value(revision) over same_id) as revision
            from numbered window same_id as (partition by id order by n)
          )
          select case when is_new then 'appended' else 'duplicate' end, position, revision, revision - 1
          from answers order by n;
          return;
        end if;
        for i in 1 .. cardinality(ids) loop
          if i = 1 or requests[i] <> requests[i - 1] then
            refused := false;
            if expected[i] is not null then
              -- All of a conditional request is known, or none of it and its stream is where it was expected.
              select coalesce(max(e.revision), -1) into head from log.events e where e.stream = streams[i];
              wanted := array[ids[i]];
              for j in i + 1 .. cardinality(ids) loop
                exit when requests[j] <> requests[i];
                wanted := wanted || ids[j];
              end loop;
              select array_agg(distinct r.id) into wanted from unnest(wanted) r (id);
              select count(*), count(*) filter (where e.stream = streams[i]) into known, known_here
                from log.events e where e.event_id = any (wanted);
              refused := known_here < cardinality(wanted) and (known > 0 or head <> expected[i]);
            end if;
          end if;
          if refused then
            outcome := 'conflict';
            position := null;
            revision := null;
            stream_revision := head;
            return next;
            continue;
          end if;
          insert into log.events as e (position, stream, revision, event_id, type, data, metadata, recorded_at)
          select
            last_position + 1, streams[i], h.revision + 1, ids[i], types[i], data[i]::json, metadata[i]::json, clock
          from (select coalesce(max(e.revision), -1) as revision from log.events e where e.stream = streams[i]) h
          where not exists (select from log.events e where e.event_id = ids[i])
          returning 'appended', e.position, e.revision, e.revision - 1
            into outcome, position, revision, stream_revision;
          if found then
            last_position := last_position + 1;
          else
            select 'duplicate', e.position, e.revision, e.revision - 1
              into outcome, position, revision, stream_revision
              from log.events e where e.event_id = ids[i];
          end if;
          return next;
        end loop;
      end
      $function$;

CREATE OR REPLACE FUNCTION log.is_erased(name text)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
        select exists (
          select from (select distinct log_id from log.erased) l
          join log.erased e on e.digest = encode(sha256(convert_to(l.log_id || ':' || name, 'UTF8')), 'hex')
        )
      $function$;

CREATE OR REPLACE FUNCTION log.organizations_of(stream text, type text, data json)
 RETURNS SETOF text
 LANGUAGE sql
 IMMUTABLE
AS $function$
        select split_part(substr(stream, strpos(stream, '-') + 1), ':', 1)
        where split_part(stream, '-', 1) in (
          'threat', 'takedown', 'report', 'brand', 'featureFlag', 'groupedAsset', 'assetGroups', 'webhooks',
          'disputes', 'dispute'
        )
        union all
        select data ->> 'organization' where type = 'ApiKeyIssued'
        union all
        select review ->> 'organization'
        from json_array_elements(case
          when type = 'AssetStatusChanged' and json_typeof(data -> 'brandReviews') = 'array' then data -> 'brandReviews'
        end) review
      $function$;

CREATE OR REPLACE FUNCTION service.is_erased(name text)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
      select exists (
        select from (select distinct log_id from service.erased_names) l
        join service.erased_names e on e.digest = encode(sha256(convert_to(l.log_id || ':' || name, 'UTF8')), 'hex')
      )
    $function$;

CREATE OR REPLACE FUNCTION service.skip_erased()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
    begin
      return case when service.is_erased(to_jsonb(new) ->> tg_argv[0]) then null else new end;
    end
    $function$;
