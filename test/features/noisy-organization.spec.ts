import { describe, expect, it } from '@jest/globals';
import { MAX_DAYS, MAX_TYPES } from '../../src/metrics/count-sql.js';
import { MetricsPool } from '../../src/read-models/pools.js';
import { MEASURE } from '../../src/events/facts.js';
import { sharedApp, sharedDatabase, sharedProjecting } from '../support/open-for-tests.js';
import { eventually } from '../support/eventually.js';
import { whileLocked } from '../support/while-locked.js';

const database = sharedDatabase();
const app = sharedApp({ database });
sharedProjecting(app);

/** The size of the pool for metrics. An organization uses one of these connections at a time. */
const METRICS_CONNECTIONS = 8;

interface Answer {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly message: string | undefined;
}

/** @param n each number gives a different range */
const ask = async (key: string, n: number): Promise<Answer> => {
  const range = `endDate=2026-01-01T00:00:${String(n).padStart(2, '0')}Z`;
  const { status, headers, body } = await app.call(`/v2/organization/metrics?${range}`, { key });
  return { status, retryAfter: headers.get('retry-after'), message: body.message };
};

/** Counts the metrics statements that PostgreSQL has started, including waiting ones. */
const startedStatements = async (): Promise<number> => {
  const { rows } = await database.pool.query<{ n: number }>(
    `select count(*) as n from pg_stat_activity
     where datname = current_database() and state = 'active' and query like '%read.type_days%' and pid <> pg_backend_pid()`,
  );
  return rows[0]!.n;
};

/**
 * Repeats a query until it is rejected or `isOver` returns true. Repeating is necessary because the service cancels a
 * statement that hangs for 2.5 s, and a busy machine may need longer to start all queries.
 */
const keepAsking = async (key: string, n: number, isOver: () => boolean): Promise<Answer> => {
  for (;;) {
    const answer = await ask(key, n);
    if (answer.status === 429 || isOver()) return answer;
  }
};

/** Blocks every metrics query while `work` runs, to simulate the slowest possible queries. */
const whileQueriesHang = (work: () => Promise<void>): Promise<void> =>
  whileLocked(database.pool, ['read.type_days'], work);

describe('An organization that sends many metrics queries', () => {
  it('does not delay health checks and commands when all connections for metrics are in use', async () => {
    const keys = await Promise.all(
      Array.from({ length: METRICS_CONNECTIONS }, (_, n) => app.issueKey({ organization: `noisy-${n}` })),
    );
    const quiet = await app.issueKey({ organization: 'quiet', scopes: ['write'] });
    const pending: Promise<Answer>[] = [];
    let isOver = false;
    await whileQueriesHang(async () => {
      for (const key of keys) pending.push(keepAsking(key, 1, () => isOver));
      await eventually(
        'all connections for metrics are in use',
        async () => (await startedStatements()) === METRICS_CONNECTIONS,
      );
      expect((await fetch(`${app.url}/health/ready`)).status).toBe(200);
      const created = await app.call('/v2/organization/asset-groups', { key: quiet, json: { name: 'Landing pages' } });
      expect(created.status).toBe(201);
    }).finally(() => (isOver = true));
    await Promise.all(pending);
  });

  it('receives 429 if 32 of its queries are waiting', async () => {
    const key = await app.issueKey({ organization: 'noisy' });
    const pending: Promise<Answer>[] = [];
    const rejected: Answer[] = [];
    let isOver = false;
    await whileQueriesHang(async () => {
      for (let n = 0; n < 60; n += 1) {
        const answer = keepAsking(key, n, () => isOver);
        pending.push(answer);
        void answer.then((each) => each.status === 429 && rejected.push(each));
      }
      // A rejected client stops, and 33 queries are always admitted.
      await eventually('the queries beyond the limit are rejected', () => rejected.length === 60 - 1 - 32);
    }).finally(() => (isOver = true));
    await Promise.all(pending);
    expect(rejected.length).toBe(60 - 1 - 32);
    expect(rejected[0]).toMatchObject({ retryAfter: '1', message: expect.stringContaining('are waiting') });
  });

  it('receives 422 if a range has more days or types than a response may contain', async () => {
    const { pool } = database;
    const fill = (organization: string, days: number, types: number) =>
      pool.query(
        `with days as (insert into read.days select $1, '', $4, day, 1 from generate_series(1, $2::int) day)
         insert into read.type_days select $1, '', $2, 'TYPE_' || n, 1 from generate_series(1, $3::int) n`,
        [organization, days, types, MEASURE.threat],
      );
    await fill('many-days', MAX_DAYS + 1, 1);
    await fill('many-types', 1, MAX_TYPES + 1);
    await fill('just-as-many', MAX_DAYS, MAX_TYPES);
    await pool.query(
      `insert into read.facts (organization, brand, measure, at, record, type)
       select 'many-types-today', '', $1, 5, 'threat-' || n, 'TYPE_' || n from generate_series(1, $2::int) n`,
      [MEASURE.threat, MAX_TYPES + 1],
    );
    const ranges: Record<string, string> = { 'many-types-today': '?startDate=1970-01-01T00:00:00.001Z' };
    const statuses: Record<string, number> = {};
    for (const organization of ['many-days', 'many-types', 'many-types-today', 'just-as-many']) {
      const key = await app.issueKey({ organization });
      const response = await fetch(`${app.url}/v2/organization/metrics${ranges[organization] ?? ''}`, {
        headers: { 'x-api-key': key },
      });
      await response.arrayBuffer();
      statuses[organization] = response.status;
    }
    expect(statuses).toEqual({ 'many-days': 422, 'many-types': 422, 'many-types-today': 422, 'just-as-many': 200 });
  });

  it('receives 503 in time if counting a range takes too long', async () => {
    const key = await app.issueKey({ organization: 'noisy' });
    await database.pool.query(`
      alter table read.type_days rename to all_type_days;
      create view read.type_days as select t.* from pg_sleep(20), read.all_type_days t`);
    try {
      const { rows } = await app.app
        .get(MetricsPool)
        .query<{ ms: number }>("select setting::int as ms from pg_settings where name = 'statement_timeout'");
      // The query may also wait one second for its turn and one for a connection, so the total is below 5 s.
      expect(rows[0]!.ms).toBe(2_500);
      const { status, retryAfter, message } = await ask(key, 1);
      expect({ status, retryAfter }).toEqual({ status: 503, retryAfter: '60' });
      expect(message).toBe('Counting this range takes too long; request a shorter range, or try again');
    } finally {
      await database.pool.query('drop view read.type_days; alter table read.all_type_days rename to type_days');
    }
  });
});
