/** Makes the tables of this version those of version 2.0.0, where they differ. */
export const AS_VERSION_2_0_0 = `
  delete from read.later_migrations;
  insert into read.later_migrations (name, applied_at) values ('0022-event-of-webhook-progress', '2026-01-01');
  alter table read.listed_records
    drop item, add updated_at bigint, add content text collate "C", add brands text[] collate "C";
  create table read.projector_lease (singleton boolean primary key, owner text, epoch bigint, expires_at bigint);
  alter table read.webhook_endpoints
    drop endpoint, add url text, add types text[], add asset_types text[], add statuses text[], add batch integer,
    add description text, add disabled_reason text, add secret_generation integer, add secret_key text,
    add previous_secret_generation integer, add previous_secret_key text, add previous_secret_until bigint,
    add start_after bigint, add start_log text, add replay integer, add updated_at bigint,
    add request_body_hash text;
  alter table service.webhook_progress
    drop progress, add replay integer, add log_id text, add position bigint, add failing_since bigint,
    add tries integer, add next_attempt_at bigint, add last_success_at bigint, add last_failure json,
    add refused integer, add parked integer, add parked_from bigint, add event text;
  alter table service.webhook_attempts
    drop attempt, add at bigint, add is_test boolean, add webhook_id text, add records integer, add status integer,
    add error text, add answer text, add took integer, add set_aside json;
  create table service.rejected_events (day integer, key_id text, sample json);
  ${[
    'webhook_progress',
    'webhook_attempts',
    'webhook_outcomes',
    'webhook_tests',
    'ingest_usage',
    'event_usage',
    'rejections',
    'rejected_events',
    'key_uses',
  ]
    .map((table) => `create view read.${table} as select * from service.${table};`)
    .join('\n')}`;
