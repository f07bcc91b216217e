import { describe, expect, it } from '@jest/globals';
import { ConfigError } from '../../../src/runtime/config.js';
import { migrateReadModels } from '../../../src/read-models/prepare-tables.js';
import { newDatabase } from '../../support/open-for-tests.js';
import { AS_BEFORE, AS_VERSION_2_0_0 } from '../migrations/version-2-0-0.js';

const database = newDatabase();

const query = async (sql: string): Promise<Record<string, unknown>[]> =>
  (await database.pool.query<Record<string, unknown>>(sql)).rows;

/** Every column, constraint, index and view of the tables. */
const shape = (): Promise<unknown> =>
  query(`
    select table_schema || '.' || table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable as what
      from information_schema.columns where table_schema in ('read', 'service')
    union all
    select conrelid::regclass || ' ' || pg_get_constraintdef(oid)
      from pg_constraint where connamespace::regnamespace::text in ('read', 'service')
    union all select indexdef from pg_indexes where schemaname in ('read', 'service')
    order by 1`);

const WEBHOOK = `
  insert into read.webhook_endpoints (organization, id, state, created_at, request_key_hash, revision, url, types,
      asset_types, batch, secret_generation, secret_key, start_after, start_log, replay, updated_at)
    values ('acme', 'wh_1', 'ACTIVE', 7, null, 3, 'https://acme.example', '{threat}', '{URL,X}', 5, 2, 'k', -1, 'log', 1, 8);
  insert into service.webhook_progress (endpoint, replay, log_id, position, tries, last_success_at, last_failure,
      refused, event)
    values ('wh_1', 1, 'log', 40, 0, 6, '{"at":5,"error":"answered 503","answer":""}', 0, '40:0123abcd'),
      ('wh_2', 1, 'log', 41, 0, null, null, 0, '40:0123abcd');
  insert into service.webhook_attempts (endpoint, number, at, is_test, webhook_id, records, status, took, set_aside)
    values ('wh_1', 1, 6, false, 'm1', 2, 204, 41, '{"type":"threat","id":"t"}');`;

describe('The tables of an earlier version', () => {
  it.each([
    ['2.0.0', AS_VERSION_2_0_0],
    ['the unreleased version before this one', AS_BEFORE],
  ])('have the same columns and indexes as new tables after an upgrade from %s', async (_, changes) => {
    const expected = await shape();
    await query(changes);
    expect(await shape()).not.toEqual(expected);
    await migrateReadModels(database.pool);
    expect(await shape()).toEqual(expected);
  });

  it('keep webhooks, but the listed records and their checkpoint are deleted, so that the records are projected again', async () => {
    await query(`${AS_BEFORE};${WEBHOOK}
      insert into read.listed_records (organization, kind, id, version, event_id, position, stored_at)
        values ('acme', 1, 'r', 0, '00000000-0000-4000-8000-000000000000', 1, 1);
      insert into read.checkpoints (projection, log_id, position, as_of) values ('records', 'log', 1, 1), ('metrics', 'log', 1, 1)`);
    await migrateReadModels(database.pool);
    expect(await query('select * from read.listed_records')).toEqual([]);
    expect(await query('select projection from read.checkpoints')).toEqual([{ projection: 'metrics' }]);
    const secret = { generation: 2, masterKey: 'k' };
    const filter = { types: ['threat'], assetTypes: ['URL', 'X'], batch: 5 };
    const start = { startAfter: -1, startLog: 'log', replay: 1, createdAt: 7, updatedAt: 8 };
    const endpoint = { organization: 'acme', webhookId: 'wh_1', url: 'https://acme.example', state: 'ACTIVE' };
    expect(await query('select endpoint from read.webhook_endpoints')).toEqual([
      { endpoint: { ...endpoint, ...filter, ...secret, ...start } },
    ]);
    expect(await query('select progress from service.webhook_progress order by endpoint')).toEqual([
      {
        progress: {
          replay: 1,
          logId: 'log',
          position: 40,
          event: '0123abcd',
          parked: null,
          parkedFrom: null,
          failingSince: null,
          tries: 0,
          nextAttemptAt: null,
          refused: 0,
          lastSuccessAt: 6,
          lastFailure: { at: 5, error: 'answered 503', answer: '' },
        },
      },
      // The stored event of this progress belonged to another position, so it is not kept.
      { progress: expect.objectContaining({ position: 41, event: null, lastFailure: null }) },
    ]);
    const attempt = { at: 6, deliveryId: 'm1', records: 2, ms: 41, isTest: false, status: 204 };
    expect(await query('select attempt from service.webhook_attempts')).toEqual([
      { attempt: { ...attempt, setAside: { type: 'threat', id: 't' } } },
    ]);
  });

  it('keep the schema `service` if the schema `read` was dropped before the upgrade', async () => {
    const expected = await shape();
    await query(`${AS_BEFORE};${WEBHOOK} drop schema read cascade`);
    await migrateReadModels(database.pool);
    expect(await shape()).toEqual(expected);
    expect(await query('select endpoint from service.webhook_progress order by 1')).toHaveLength(2);
  });
});

describe('The tables of this version', () => {
  it('are created again after the schema `read` was dropped, and the schema `service` is kept', async () => {
    const expected = await shape();
    await query(`insert into service.key_uses values ('k', 1); drop schema read cascade`);
    await migrateReadModels(database.pool);
    expect(await shape()).toEqual(expected);
    expect(await query('select * from service.key_uses')).toEqual([{ key_id: 'k', last_used_at: 1 }]);
  });

  it('contain the organizations of events that version 2.0.0 had parked', async () => {
    await query(`${AS_VERSION_2_0_0}
      insert into read.parked_events (projection, event_id, position, stream, revision, type, data, metadata, reason, parked_at)
        select 'p', ('00000000-0000-4000-8000-00000000000' || n)::uuid, n, 's', n, 'AssetStatusChanged', data::json, '{}', '', 0
        from (values (1, '{"changeId":"c","brandReviews":[{"organization":"acme"}]}'), (2, '{"changeId":"\\u0000"}')) e (n, data)`);
    await migrateReadModels(database.pool);
    expect(await query('select change_id, organizations from read.parked_events order by position')).toEqual([
      { change_id: 'c', organizations: ['acme'] },
      { change_id: null, organizations: null },
    ]);
  });

  it('cannot be converted from a version before 2.0.0', async () => {
    await query(`${AS_VERSION_2_0_0} delete from read.later_migrations`);
    await expect(migrateReadModels(database.pool)).rejects.toThrow(ConfigError);
    await expect(migrateReadModels(database.pool)).rejects.toThrow('Drop the schema `read` and start again');
  });
});
