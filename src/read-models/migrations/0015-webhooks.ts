import { sql, type Kysely } from 'kysely';

/**
 * Webhooks: the endpoints, which are projected, and what the delivery process keeps of each. The projection begins where
 * the groups' is: no log has an event of it that is older, and the other projections of the lane need not wait for it.
 */
export const up = async (db: Kysely<unknown>): Promise<void> => {
  await sql`
    create table read.webhook_endpoints (
      organization text collate "C" not null,
      id text collate "C" not null,
      url text collate "C" not null,
      types text[] collate "C",
      asset_types text[] collate "C",
      statuses text[] collate "C",
      batch integer not null,
      description text collate "C",
      state text collate "C" not null,
      disabled_reason text collate "C",
      secret_generation integer not null,
      secret_key text collate "C" not null,
      previous_secret_generation integer,
      previous_secret_key text collate "C",
      previous_secret_until bigint,
      start_after bigint not null,
      start_log text collate "C" not null,
      replay integer not null,
      created_at bigint not null,
      updated_at bigint not null,
      request_key_hash text collate "C",
      request_body_hash text collate "C",
      revision bigint not null,
      primary key (organization, id)
    )`.execute(db);
  await sql`
    create index webhook_endpoints_living on read.webhook_endpoints (organization, id)
    where state <> 'DELETED'`.execute(db);
  await sql`
    create index webhook_endpoints_by_revision on read.webhook_endpoints (organization, revision)`.execute(db);
  await sql`
    create index webhook_endpoints_by_request on read.webhook_endpoints (organization, request_key_hash)
    where request_key_hash is not null`.execute(db);

  await sql`
    create table read.webhook_progress (
      endpoint text collate "C" primary key,
      replay integer not null,
      log_id text collate "C" not null,
      position bigint not null,
      failing_since bigint,
      tries integer not null default 0,
      next_attempt_at bigint,
      last_success_at bigint,
      last_failure json,
      refused integer not null default 0
    ) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02)`.execute(db);

  await sql`
    create table read.webhook_attempts (
      endpoint text collate "C" not null,
      number bigint not null,
      at bigint not null,
      is_test boolean not null default false,
      webhook_id text collate "C" not null,
      records integer not null,
      status integer,
      error text,
      answer text,
      took integer not null,
      set_aside json,
      primary key (endpoint, number)
    ) with (autovacuum_vacuum_scale_factor = 0.02)`.execute(db);

  await sql`
    create table read.webhook_tests (
      id uuid primary key,
      organization text collate "C" not null,
      endpoint text collate "C" not null,
      requested_at bigint not null,
      answered_at bigint,
      result json
    )`.execute(db);
  await sql`
    create index webhook_tests_waiting on read.webhook_tests (requested_at) where answered_at is null`.execute(db);

  await sql`
    insert into read.checkpoints (projection, log_id, position, as_of, last_stream, last_revision, last_event_id)
    select 'webhooks', log_id, position, as_of, last_stream, last_revision, last_event_id
    from read.checkpoints where projection = 'asset-groups'
    on conflict do nothing`.execute(db);
};
