import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import type { Pool } from 'pg';
import { CONTACTS_OF_RESOLVED, CONTACTS_WITHOUT_DISPUTE } from '../../src/disputes/file-dispute.js';
import { OLD_EVENT_USAGE } from '../../src/ingestion/outcomes/usage-log.js';
import { OLD_INGEST_USAGE } from '../../src/quotas/daily-quota.js';
import { Expiry, countExpired, deleteExpired, expiringRows, type ExpiringRows } from '../../src/read-models/expiry.js';
import { migrateReadModels } from '../../src/read-models/prepare-tables.js';
import {
  ATTEMPTS_OF_DELETED_ENDPOINTS,
  PROGRESS_OF_DELETED_ENDPOINTS,
  EXPIRED_TESTS,
} from '../../src/webhooks/progress-sql.js';
import { createDatabase, type TestDatabase } from '../support/postgres.js';

const DAY = '86400000::bigint';
const NOW = 'floor(extract(epoch from clock_timestamp()) * 1000)::bigint';
/** More rows than two batches. */
const MANY = 2_500;

/** For each kind: rows that have expired, and rows that have not. */
const KINDS: readonly (readonly [ExpiringRows, table: string, expired: string, kept: string, keptRows: number])[] = [
  [
    CONTACTS_OF_RESOLVED,
    'service.dispute_contacts',
    `with d as (
      insert into read.disputes (organization, id, created_at, resolved_at)
      select 'o' || i % 7, 'dp' || i, 1, ${NOW} - 90 * ${DAY} from generate_series(1, ${MANY}) i returning organization, id
    ) insert into service.dispute_contacts select organization, id, 'c', 1 from d`,
    `with d as (
      insert into read.disputes (organization, id, created_at, resolved_at)
      values ('a', 'open', 1, null), ('z', 'recent', 1, ${NOW} - 89 * ${DAY}) returning organization, id
    ) insert into service.dispute_contacts select organization, id, 'c', 1 from d`,
    2,
  ],
  [
    CONTACTS_WITHOUT_DISPUTE,
    'service.dispute_contacts',
    `insert into service.dispute_contacts
      select 'o' || i % 7, 'dp' || i, 'c', ${NOW} - 3700000 from generate_series(1, ${MANY}) i`,
    `with d as (
      insert into read.disputes (organization, id, created_at) values ('a', 'open', 1) returning organization, id
    ) insert into service.dispute_contacts select organization, id, 'c', 1 from d
      union all select 'z', 'new', 'c', ${NOW} - 3500000`,
    2,
  ],
  [
    OLD_INGEST_USAGE,
    'service.ingest_usage',
    `insert into service.ingest_usage select ${NOW} / ${DAY} - 2, 'o' || i, 1, 1 from generate_series(1, ${MANY}) i`,
    `insert into service.ingest_usage select ${NOW} / ${DAY} - i, 'o', 1, 1 from generate_series(0, 1) i`,
    2,
  ],
  [
    OLD_EVENT_USAGE,
    'service.event_usage',
    `insert into service.event_usage
      select 'o' || i, ${NOW} / ${DAY} - 90, 't', 'accepted', 1 from generate_series(1, ${MANY}) i`,
    `insert into service.event_usage values ('o', ${NOW} / ${DAY} - 89, 't', 'accepted', 1)`,
    1,
  ],
  [
    EXPIRED_TESTS,
    'service.webhook_tests',
    `insert into service.webhook_tests
      select gen_random_uuid(), 'o', 'e', ${NOW} - 60000, case when i % 2 = 0 then 1 end from generate_series(1, ${MANY}) i`,
    `insert into service.webhook_tests values (gen_random_uuid(), 'o', 'e', ${NOW} - 50000)`,
    1,
  ],
  [
    ATTEMPTS_OF_DELETED_ENDPOINTS,
    'service.webhook_attempts',
    `insert into service.webhook_attempts select 'gone' || i % 25, i, '{}' from generate_series(1, ${MANY}) i`,
    `insert into service.webhook_attempts values ('living', 1, '{}'), ('unknown', 1, '{}')`,
    2,
  ],
  [
    PROGRESS_OF_DELETED_ENDPOINTS,
    'service.webhook_progress',
    `insert into service.webhook_progress select 'gone' || i, '{}' from generate_series(1, ${MANY}) i`,
    `insert into service.webhook_progress values ('living', '{}'), ('unknown', '{}')`,
    2,
  ],
];

let database: TestDatabase;
let pool: Pool;
beforeAll(async () => {
  database = await createDatabase();
  ({ pool } = database);
  await migrateReadModels(pool);
  await pool.query(`
    insert into read.checkpoints (projection, position, log_id, as_of) values ('register', 1, 'log', ${NOW})
      on conflict (projection) do update set as_of = excluded.as_of;
    insert into read.webhook_endpoints (organization, id, state, created_at, revision, endpoint)
      select 'o', 'gone' || i, 'DELETED', 1, i, '{}'::jsonb from generate_series(0, ${MANY}) i
      union all select 'o', 'living', 'ACTIVE', 1, 9999, '{}'::jsonb`);
});
afterAll(() => database.drop());
beforeEach(async () => {
  for (const table of new Set(['read.disputes', ...KINDS.map(([, name]) => name)]))
    await pool.query(`truncate ${table}`);
  await pool.query(`delete from read.projector_leases where lane = 'expiry'`);
});

const rowsOf = async (table: string): Promise<number> =>
  (await pool.query<{ n: number }>(`select count(*)::int as n from ${table}`)).rows[0]!.n;

const valueOf = async (registry: Registry, metric: string, rows: string): Promise<number | undefined> => {
  const { values } = await (
    registry.getSingleMetric(metric) as unknown as {
      get(): Promise<{ values: { labels: { rows?: string }; value: number }[] }>;
    }
  ).get();
  return values.find(({ labels }) => labels.rows === rows)?.value;
};

describe('Rows that have expired', () => {
  it.each(KINDS.map((kind) => [kind[0].name, kind] as const))(
    '%s: are deleted in batches and counted, and others are kept',
    async (_, [rows, table, expired, kept, keptRows]) => {
      await pool.query(expired);
      await pool.query(kept);
      expect(await countExpired(pool, rows)).toBe(MANY);
      const first = await deleteExpired(pool, rows, 0);
      expect([first.deleted > 0, first.deleted <= 1_000, first.next === undefined]).toEqual([true, true, false]);
      expect(await rowsOf(table)).toBe(MANY + keptRows - first.deleted);
      expect(await deleteExpired(pool, rows, 60_000, first.next)).toEqual({
        deleted: MANY - first.deleted,
        next: undefined,
      });
      expect([await rowsOf(table), await countExpired(pool, rows)]).toEqual([keptRows, 0]);
    },
  );

  it.each(KINDS.map((kind) => [kind[0].name, kind] as const))(
    '%s: are found by an index',
    async (_, [rows, table, expired]) => {
      await pool.query(expired);
      const client = await pool.connect();
      try {
        await client.query(
          'begin; set local plan_cache_mode = force_generic_plan; set local enable_seqscan = off; set local enable_bitmapscan = off; set local enable_hashjoin = off; set local enable_mergejoin = off',
        );
        const after = `'{${rows.first.map((value) => `"${value}"`).join(',')}}'`;
        const text = rows.erase.text.replaceAll('$1', '1000').replaceAll('$2', after);
        const { rows: lines } = await client.query<{ 'QUERY PLAN': string }>(`explain ${text}`);
        const plan = lines.map((line) => line['QUERY PLAN']).join('\n');
        expect(plan).toMatch(/Index (?:Only )?Scan/);
        expect(plan).not.toMatch(new RegExp(`Seq Scan on ${table.split('.')[1]}`));
      } finally {
        await client.query('rollback');
        client.release();
      }
    },
  );

  it('are deleted although one kind fails, and the metrics show what is left and for how long', async () => {
    const registry = new Registry();
    const broken = expiringRows({ name: 'broken rows', table: 'service.missing', where: 'true' });
    const expiry = new Expiry(pool as never, registry);
    expiry.register(broken, OLD_INGEST_USAGE);
    // The kind that failed is tried again soon.
    expect(await expiry.round()).toBe(5_000);
    await pool.query(KINDS[2]![2]);
    expect(await valueOf(registry, 'threat_protection_expired_rows', 'daily quotas')).toBe(MANY);
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    expect(await valueOf(registry, 'threat_protection_expiry_age_seconds', 'daily quotas')).toBeGreaterThanOrEqual(1);
    await expiry.round();
    expect(await rowsOf('service.ingest_usage')).toBe(0);
    expect(await valueOf(registry, 'threat_protection_expiry_age_seconds', 'daily quotas')).toBe(0);
    expect(await valueOf(registry, 'threat_protection_expiry_age_seconds', 'broken rows')).toBeGreaterThanOrEqual(1);
    expect(await valueOf(registry, 'threat_protection_expired_rows', 'broken rows')).toBeUndefined();
  });

  it('are deleted by one process of the installation, and by another when that one has ended', async () => {
    const registries = [new Registry(), new Registry()] as const;
    const [first, second] = registries.map((registry) => new Expiry(pool as never, registry)) as [Expiry, Expiry];
    for (const expiry of [first, second]) expiry.register(OLD_INGEST_USAGE);
    const ages = (): Promise<unknown[]> =>
      Promise.all(registries.map((each) => valueOf(each, 'threat_protection_expiry_age_seconds', 'daily quotas')));
    await first.round();
    await pool.query(KINDS[2]![2]);
    expect(await second.round()).toBe(60_000);
    expect([await rowsOf('service.ingest_usage'), await ages()]).toEqual([MANY, [0, undefined]]);
    await first.beforeApplicationShutdown();
    expect(await second.round()).toBe(600_000);
    expect([await rowsOf('service.ingest_usage'), await ages()]).toEqual([0, [0, 0]]);
    await second.beforeApplicationShutdown();
  });

  it('are deleted in smaller batches if a batch takes longer than its limit', async () => {
    await pool.query(KINDS[2]![2]);
    await pool.query(`
      create function slow() returns trigger language plpgsql as $$ begin perform pg_sleep(0.01); return old; end $$;
      create trigger slow before delete on service.ingest_usage for each row execute function slow()`);
    try {
      const { deleted, next } = await deleteExpired(pool, OLD_INGEST_USAGE, 3_000);
      expect([deleted >= 100, next]).toEqual([true, []]);
    } finally {
      await pool.query('drop function slow cascade');
    }
  }, 20_000);
});
