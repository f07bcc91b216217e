import { sql, type Kysely } from 'kysely';
import type { NumberedMigration } from '../../postgres/migrator.js';
import { ConfigError } from '../../runtime/config.js';
import { ASSET_TABLES, METRIC_TABLES, RECORD_TABLES } from './baseline/records.js';
import { ENGINE_TABLES, ORGANIZATION_TABLES, SERVICE_TABLES } from './baseline/service.js';

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

/** Moves the tables of version 2.0.0 that the log cannot rebuild to the schema `service`. */
export const MOVE_SERVICE: readonly string[] = [
  ...NOT_IN_THE_LOG.map((table) => `alter table read.${table} set schema service`),
  'alter table service.webhook_progress add column event text collate "C"',
  `alter table read.parked_events
    add column change_id text collate "C", add column organizations text[] collate "C"`,
  // Rows whose data PostgreSQL cannot read are skipped.
  `update read.parked_events set
    change_id = data ->> 'changeId',
    organizations = array(
      select distinct review ->> 'organization' collate "C"
      from json_array_elements(case when json_typeof(data -> 'brandReviews') = 'array' then data -> 'brandReviews' end)
        review
      where review ->> 'organization' is not null
    )
  where type in ('AssetStatusChanged', 'AssetStatusChangeDeleted')
    and data::text !~ '\\\\u(0000|[dD][89a-fA-F])' and json_typeof(data) = 'object'`,
  `create index parked_events_of_entries on read.parked_events (projection, position)
    where type in ('AssetStatusChanged', 'AssetStatusChangeDeleted')`,
];

/**
 * Converts the tables of the unreleased versions after 2.0.0. Listed records are now stored as JSON items, so their
 * projection reads the log from the beginning. Until the projection has caught up, lists and the feed respond with 503.
 */
export const CONVERT_READ_MODELS: readonly string[] = [
  ...NOT_IN_THE_LOG.map((table) => `drop view if exists read.${table}`),
  'drop table read.projector_lease',
  'truncate read.listed_records, read.brand_records, read.reviewed_entries',
  `alter table read.listed_records
    drop column updated_at, drop column content, drop column brands, add column item text collate "C"`,
  `delete from read.checkpoints where projection = 'records'`,
  `delete from read.parked_events where projection = 'records'`,
  'alter table read.webhook_endpoints add column endpoint jsonb',
  `update read.webhook_endpoints set endpoint = jsonb_strip_nulls(jsonb_build_object(
      'organization', organization, 'webhookId', id, 'url', url, 'types', types, 'assetTypes', asset_types,
      'statuses', statuses, 'batch', batch, 'description', description, 'state', state,
      'disabledReason', disabled_reason, 'generation', secret_generation, 'masterKey', secret_key,
      'previousGeneration', previous_secret_generation, 'previousMasterKey', previous_secret_key,
      'previousUntil', previous_secret_until, 'startAfter', start_after, 'startLog', start_log, 'replay', replay,
      'createdAt', created_at, 'updatedAt', updated_at, 'idempotencyKeyHash', request_key_hash,
      'bodyHash', request_body_hash))`,
  `alter table read.webhook_endpoints
    alter column endpoint set not null, drop column url, drop column types, drop column asset_types,
    drop column statuses, drop column batch, drop column description, drop column disabled_reason,
    drop column secret_generation, drop column secret_key, drop column previous_secret_generation,
    drop column previous_secret_key, drop column previous_secret_until, drop column start_after,
    drop column start_log, drop column replay, drop column updated_at, drop column request_body_hash`,
];

/** Converts the tables in `service`. */
export const CONVERT_SERVICE: readonly string[] = [
  'drop table service.rejected_events',
  'alter table service.webhook_progress add column progress jsonb',
  `update service.webhook_progress set progress = jsonb_build_object(
      'replay', replay, 'logId', log_id, 'position', position,
      'event', case when split_part(event, ':', 1) = position::text then split_part(event, ':', 2) end,
      'parked', parked, 'parkedFrom', parked_from, 'failingSince', failing_since, 'tries', tries,
      'nextAttemptAt', next_attempt_at, 'refused', refused, 'lastSuccessAt', last_success_at,
      'lastFailure', last_failure)`,
  `alter table service.webhook_progress
    alter column progress set not null, drop column replay, drop column log_id, drop column position,
    drop column event, drop column parked, drop column parked_from, drop column failing_since, drop column tries,
    drop column next_attempt_at, drop column refused, drop column last_success_at, drop column last_failure`,
  'alter table service.webhook_attempts add column attempt json',
  `update service.webhook_attempts set attempt = json_strip_nulls(json_build_object(
      'at', at, 'deliveryId', webhook_id, 'records', records, 'ms', took, 'isTest', is_test, 'status', status,
      'error', error, 'setAside', set_aside))`,
  `alter table service.webhook_attempts
    alter column attempt set not null, drop column at, drop column is_test, drop column webhook_id,
    drop column records, drop column status, drop column error, drop column answer, drop column took,
    drop column set_aside`,
];

/** The last migration of version 2.0.0, and the last migration of the unreleased versions after 2.0.0. */
const LAST_OF_2_0_0 = '0018-lost-in-rebuilds';
const LAST_BEFORE = '0022-event-of-webhook-progress';

const TOO_OLD =
  'The read models were made by a development version before 2.0.0. Drop the schema `read` and start again: they are ' +
  'rebuilt from the log';

/**
 * Creates all tables, or converts the tables of version 2.0.0.
 *
 * An operator can drop the schema `read` at any time, and the service rebuilds it from the log. The schema `service`,
 * which cannot be rebuilt, then remains. This migration therefore accepts each of the two schemas in any state, and a
 * later migration that changes `service` must be repeatable (`add column if not exists`).
 * @throws ConfigError if the tables are of a version before 2.0.0
 */
export const up = async (db: Kysely<unknown>): Promise<void> => {
  const { rows } = await sql<{ has_read: boolean; applied: string[]; has_schema: boolean; progress: string[] }>`
    select exists (select from pg_tables where schemaname = 'read' and tablename = 'checkpoints') as has_read,
      array(select name from read.later_migrations) as applied,
      exists (select from pg_namespace where nspname = 'service') as has_schema,
      array(
        select column_name::text from information_schema.columns
        where table_schema = 'service' and table_name = 'webhook_progress'
      ) as progress`.execute(db);
  const { has_read, applied, has_schema, progress } = rows[0]!;
  if (has_read && !applied.includes(LAST_OF_2_0_0)) throw new ConfigError(TOO_OLD);
  const isMoved = !has_read || applied.includes(LAST_BEFORE);
  // PostgreSQL rejects `create schema if not exists` if the role may not create schemas, even if the role owns this
  // schema.
  const schema = has_schema ? [] : ['create schema service'];
  const moved = isMoved ? [] : MOVE_SERVICE;
  const read = has_read
    ? CONVERT_READ_MODELS
    : [...ENGINE_TABLES, ...METRIC_TABLES, ...RECORD_TABLES, ...ASSET_TABLES, ...ORGANIZATION_TABLES];
  const isOld = !isMoved || progress.includes('replay');
  const service = isOld ? CONVERT_SERVICE : progress.length === 0 ? SERVICE_TABLES : [];
  for (const statement of [...schema, ...moved, ...read, ...service]) await sql.raw(statement).execute(db);
};

/** Earlier versions read columns and views that this migration drops. */
export const minimalVersion: NumberedMigration['minimalVersion'] = { knows: '0023-baseline', version: '2.1.0' };
