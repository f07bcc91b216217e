import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Pool } from 'pg';
import { Registry } from 'prom-client';
import { createScrape } from '../../src/ops/projection-lag.js';
import { addWebhookMetrics } from '../../src/ops/webhook-metrics.js';
import { READ_PROJECTION_CHECKPOINTS } from '../../src/read-models/checkpoints.js';
import { migrateReadModels } from '../../src/read-models/prepare-tables.js';
import { createDatabase, type TestDatabase } from '../support/postgres.js';
import { TestClock } from '../support/test-clock.js';

let database: TestDatabase;
let pool: Pool;
let clock: TestClock;
let scrape: () => Promise<string>;

beforeAll(async () => {
  database = await createDatabase();
  ({ pool } = database);
  await migrateReadModels(pool);
  // More endpoints than two pages, of which every third is failing, and as many deleted ones.
  await pool.query(`
    insert into read.webhook_endpoints (organization, id, state, created_at, revision, endpoint)
      select 'o' || i % 7, 'e' || i, case when i <= 450 then 'ACTIVE' when i <= 460 then 'DISABLED' else 'DELETED' end, 1, i,
        '{"types":null,"startAfter":-1,"replay":0}'
      from generate_series(1, 900) i;
    update read.webhook_endpoints set endpoint = endpoint - 'types';
    insert into service.webhook_progress select 'e' || i, jsonb_build_object('replay', 0, 'position', -1, 'failingSince',
      case when i % 3 = 0 then 1 end) from generate_series(1, 450) i;
    insert into service.webhook_outcomes values ('delivered', 3);
    insert into read.register (record, added_at, has_counted, organization, kind, id, version, event_id, position, stored_at)
      values (gen_random_uuid(), 1, false, 'o1', 1, 'r', 0, '00000000-0000-4000-8000-000000000000', 1, 1), (gen_random_uuid(), 1, false, 'o6', 1, 'r', 0, '00000000-0000-4000-8000-000000000000', 1, 1)`);
});
afterAll(() => database.drop());
beforeEach(() => {
  clock = new TestClock();
  const registry = new Registry();
  scrape = createScrape(registry, [addWebhookMetrics(pool as never, registry)], clock);
});

const lines = async (): Promise<string[]> => {
  await clock.advance(2_000);
  const text = (await scrape()).replaceAll('threat_protection_', '');
  return text.split('\n').filter((line) => /^(?:webhook_|read_models_up|background_failures)/.test(line));
};

describe('The metrics of the webhooks', () => {
  it('are sums over all pages of endpoints', async () => {
    expect(await lines()).toEqual(
      expect.arrayContaining([
        'webhook_endpoints{state="active"} 300',
        'webhook_endpoints{state="failing"} 150',
        'webhook_endpoints{state="disabled"} 10',
        'webhook_records_behind 129',
        expect.stringMatching(/^webhook_oldest_undelivered_seconds \d{9,}/),
        'webhook_attempts_total{outcome="delivered"} 3',
        'webhook_attempts_total{outcome="no_response"} 0',
        'read_models_up 1',
      ]),
    );
  });

  it('lack the figures of endpoints that cannot be read, and nothing else is down', async () => {
    await lines();
    await pool.query('alter table read.register rename to hidden');
    try {
      const text = await lines();
      expect(text.filter((line) => /^webhook_(?:endpoints|records|oldest)/.test(line))).toEqual([]);
      expect(text).toEqual(
        expect.arrayContaining([
          'webhook_attempts_total{outcome="delivered"} 3',
          'read_models_up 1',
          'background_failures_total{task="count undelivered records of webhooks"} 1',
        ]),
      );
    } finally {
      await pool.query('alter table read.hidden rename to register');
    }
    expect(await lines()).toContain('webhook_endpoints{state="active"} 300');
  });

  it('count no time of endpoints that fail, and none before the last delivery of the others', async () => {
    await pool.query(
      `
      update service.webhook_progress set progress = progress || jsonb_build_object('lastSuccessAt', $1::bigint)
      where progress ->> 'failingSince' is null`,
      [Date.now()],
    );
    const [, seconds] = /^webhook_oldest_undelivered_seconds (\S+)$/m.exec((await lines()).join('\n'))!;
    expect(Number(seconds)).toBeLessThan(60);
    await pool.query(`update service.webhook_progress set progress = progress - 'lastSuccessAt'`);
  });

  it('report that the database does not answer', async () => {
    await pool.query('alter table service.webhook_outcomes rename to hidden');
    try {
      expect(await lines()).toContain('read_models_up 0');
    } finally {
      await pool.query('alter table service.hidden rename to webhook_outcomes');
    }
  });
});

describe('The number of parked events', () => {
  it('is counted up to 10,000, so that no number of them slows a scrape down', async () => {
    await pool.query(`
      insert into read.checkpoints (projection, log_id, position, as_of) values ('metrics', 'log', 1, 1), ('register', 'log', 1, 1);
      insert into read.parked_events (projection, event_id, position, stream, revision, type, data, metadata, reason, parked_at)
        select case when i <= 3 then 'metrics' else 'register' end, gen_random_uuid(), i, 's', i, 't', '{}', '{}', 'r', 1
        from generate_series(1, 10500) i`);
    const rows = await READ_PROJECTION_CHECKPOINTS.run(pool, {});
    expect(rows.map(({ projection, parked }) => [projection, parked])).toEqual([
      ['metrics', 3],
      ['register', 10_000],
    ]);
  });
});
