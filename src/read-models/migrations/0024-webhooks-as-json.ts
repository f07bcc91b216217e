import { sql, type Kysely } from 'kysely';
import type { NumberedMigration } from '../../postgres/migrator.js';

/** Endpoints, their progress and attempts as JSON, with columns of their own only for what is filtered or sorted by. */
export const up = async (db: Kysely<unknown>): Promise<void> => {
  await sql`alter table read.webhook_endpoints add column endpoint jsonb`.execute(db);
  await sql`
    update read.webhook_endpoints set endpoint = jsonb_strip_nulls(jsonb_build_object(
      'organization', organization, 'webhookId', id, 'url', url, 'types', types, 'assetTypes', asset_types,
      'statuses', statuses, 'batch', batch, 'description', description, 'state', state,
      'disabledReason', disabled_reason, 'generation', secret_generation, 'masterKey', secret_key,
      'previousGeneration', previous_secret_generation, 'previousMasterKey', previous_secret_key,
      'previousUntil', previous_secret_until, 'startAfter', start_after, 'startLog', start_log, 'replay', replay,
      'createdAt', created_at, 'updatedAt', updated_at, 'idempotencyKeyHash', request_key_hash,
      'bodyHash', request_body_hash))`.execute(db);
  await sql`
    alter table read.webhook_endpoints
      alter column endpoint set not null, drop column url, drop column types, drop column asset_types,
      drop column statuses, drop column batch, drop column description, drop column disabled_reason,
      drop column secret_generation, drop column secret_key, drop column previous_secret_generation,
      drop column previous_secret_key, drop column previous_secret_until, drop column start_after,
      drop column start_log, drop column replay, drop column updated_at,
      drop column request_body_hash`.execute(db);

  // The views of versions before the schema `service`.
  await sql`drop view read.webhook_progress, read.webhook_attempts`.execute(db);
  const { rows } = await sql`
    select from information_schema.columns
    where table_schema = 'service' and table_name = 'webhook_progress' and column_name = 'replay'`.execute(db);
  // Once `read` has been dropped, this runs on tables of `service` that it has changed already.
  if (rows.length === 0) return;
  await sql`alter table service.webhook_progress add column progress jsonb`.execute(db);
  await sql`
    update service.webhook_progress set progress = jsonb_build_object(
      'replay', replay, 'logId', log_id, 'position', position,
      'event', case when split_part(event, ':', 1) = position::text then split_part(event, ':', 2) end,
      'parked', parked, 'parkedFrom', parked_from, 'failingSince', failing_since, 'tries', tries,
      'nextAttemptAt', next_attempt_at, 'refused', refused, 'lastSuccessAt', last_success_at,
      'lastFailure', last_failure)`.execute(db);
  await sql`
    alter table service.webhook_progress
      alter column progress set not null, drop column replay, drop column log_id, drop column position,
      drop column event, drop column parked, drop column parked_from, drop column failing_since, drop column tries,
      drop column next_attempt_at, drop column refused, drop column last_success_at, drop column last_failure`.execute(
    db,
  );

  await sql`alter table service.webhook_attempts add column attempt json`.execute(db);
  await sql`
    update service.webhook_attempts set attempt = json_strip_nulls(json_build_object(
      'at', at, 'deliveryId', webhook_id, 'records', records, 'ms', took, 'isTest', is_test, 'status', status,
      'error', error, 'setAside', set_aside))`.execute(db);
  await sql`
    alter table service.webhook_attempts
      alter column attempt set not null, drop column at, drop column is_test, drop column webhook_id,
      drop column records, drop column status, drop column error, drop column answer, drop column took,
      drop column set_aside`.execute(db);
};

/** Earlier versions read the columns that it drops. */
export const minimalVersion: NumberedMigration['minimalVersion'] = { knows: '0024-webhooks-as-json', version: '2.1.0' };
