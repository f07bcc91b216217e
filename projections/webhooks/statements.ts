import { statement } from '../../src/postgres/statement.js';

/** Lists of names are sent as PostgreSQL's text of one: an `unnest` has no arrays of arrays of different lengths. */
export const STORE_ENDPOINTS = statement(
  'webhooks-store',
  {
    organization: 'text[]',
    webhookId: 'text[]',
    url: 'text[]',
    types: 'text[]',
    assetTypes: 'text[]',
    statuses: 'text[]',
    batch: 'integer[]',
    description: 'text[]',
    state: 'text[]',
    disabledReason: 'text[]',
    generation: 'integer[]',
    masterKey: 'text[]',
    previousGeneration: 'integer[]',
    previousMasterKey: 'text[]',
    previousUntil: 'bigint[]',
    startAfter: 'bigint[]',
    startLog: 'text[]',
    replay: 'integer[]',
    createdAt: 'bigint[]',
    updatedAt: 'bigint[]',
    idempotencyKeyHash: 'text[]',
    bodyHash: 'text[]',
    revision: 'bigint[]',
  },
  {},
  `
    insert into webhook_endpoints as w (organization, id, url, types, asset_types, statuses, batch, description, state, disabled_reason,
      secret_generation, secret_key, previous_secret_generation, previous_secret_key, previous_secret_until,
      start_after, start_log, replay, created_at, updated_at, request_key_hash, request_body_hash, revision)
    select organization, id, url, types::text[], asset_types::text[], statuses::text[], batch, description, state,
      disabled_reason, secret_generation, secret_key, previous_secret_generation, previous_secret_key,
      previous_secret_until, start_after, start_log, replay, created_at, updated_at, request_key_hash,
      request_body_hash, revision
    from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::integer[], $8::text[],
      $9::text[], $10::text[], $11::integer[], $12::text[], $13::integer[], $14::text[], $15::bigint[],
      $16::bigint[], $17::text[], $18::integer[], $19::bigint[], $20::bigint[], $21::text[], $22::text[], $23::bigint[])
      as i (organization, id, url, types, asset_types, statuses, batch, description, state, disabled_reason,
        secret_generation, secret_key, previous_secret_generation, previous_secret_key, previous_secret_until,
        start_after, start_log, replay, created_at, updated_at, request_key_hash, request_body_hash, revision)
    on conflict (organization, id) do update set
      url = excluded.url, types = excluded.types, asset_types = excluded.asset_types, statuses = excluded.statuses,
      batch = excluded.batch, description = excluded.description, state = excluded.state,
      disabled_reason = excluded.disabled_reason, secret_generation = excluded.secret_generation,
      secret_key = excluded.secret_key, previous_secret_generation = excluded.previous_secret_generation,
      previous_secret_key = excluded.previous_secret_key, previous_secret_until = excluded.previous_secret_until,
      start_after = excluded.start_after, start_log = excluded.start_log, replay = excluded.replay,
      created_at = excluded.created_at, updated_at = excluded.updated_at,
      request_key_hash = excluded.request_key_hash, request_body_hash = excluded.request_body_hash,
      revision = excluded.revision
    where w.revision < excluded.revision`,
);
