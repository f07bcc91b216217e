const NOT_IN_THE_LOG = [
  'webhook_progress',
  'webhook_attempts',
  'webhook_outcomes',
  'webhook_tests',
  'ingest_usage',
  'event_usage',
  'rejections',
  'rejected_events',
  'key_uses',
];

/** Converts the tables of this version to those of the unreleased version before it. */
export const AS_BEFORE = `
  delete from read.later_migrations;
  drop index read.webhook_endpoints_deleted, service.webhook_tests_by_time;
  drop table read.disputes, read.changed_threats, read.changed_threat_days, read.recording_clock,
    read.former_states, read.former_facts, read.log_clock, service.dispute_contacts;
  insert into read.later_migrations (name, applied_at) values ('0018-lost-in-rebuilds', ''), ('0022-event-of-webhook-progress', '');
  alter table read.listed_records
    drop item, drop moved_to, drop moved_by, drop first_recorded_at, drop added_at, drop object_id,
    add updated_at bigint, add content text collate "C", add brands text[] collate "C";
  alter table read.records drop position, drop named;
  alter table read.facts drop since, drop lag;
  create table read.projector_lease (singleton boolean primary key, owner text, epoch bigint, expires_at bigint);
  alter table read.reviewed_entries drop history;
  alter table read.checkpoints drop applied_at;
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
  ${NOT_IN_THE_LOG.map((table) => `create view read.${table} as select * from service.${table};`).join('\n')}`;

/** Converts the tables of this version to those of version 2.0.0. */
export const AS_VERSION_2_0_0 = `${AS_BEFORE}
  delete from read.later_migrations where name <> '0018-lost-in-rebuilds';
  ${NOT_IN_THE_LOG.map((table) => `drop view read.${table}; alter table service.${table} set schema read;`).join('\n')}
  drop schema service cascade;
  alter table read.webhook_progress drop event;
  drop index read.parked_events_of_entries;
  alter table read.parked_events drop change_id, drop organizations;`;
