import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Pool } from 'pg';
import { NotFound } from '../../../src/errors.js';
import { Checkpoints } from '../../../src/read-models/checkpoints/checkpoints.js';
import { MetricsPool, type Replica, type WatchPool } from '../../../src/read-models/pools.js';
import { Replicas, TooOld } from '../../../src/read-models/replicas/replicas.js';
import { requireReached } from '../../../src/records/record-queries.js';
import { startApp, type TestApp } from '../../support/app.js';
import { eventually } from '../../support/eventually.js';
import { TestClock } from '../../support/test-clock.js';
import { createDatabase, type TestDatabase } from '../../support/postgres.js';

/** A pool whose read models have reached this position; undefined: it does not answer. */
const poolAt = (name: string, position: () => number | undefined): Pool =>
  ({
    name,
    query: () => {
      const at = position();
      const rows = [{ projection: 'metrics', position: at, asOf: 0 }];
      return at === undefined ? Promise.reject(new Error('away')) : Promise.resolve({ rows });
    },
    end: () => Promise.resolve(),
  }) as unknown as Pool;

const nameOf = (pool: Pool): string => (pool as unknown as { name: string }).name;
const failure = (code: string): Error => Object.assign(new Error('no'), { code });

describe('A read', () => {
  const seen: Record<string, number | undefined> = {};
  const replicaOf = (name: string): Replica => {
    const pool = poolAt(name, () => seen[name]);
    return { watch: pool, metrics: pool, records: pool };
  };
  const MAX_LAG_MS = 10_000;
  const primary = poolAt('primary', () => seen['primary']);
  const checkpoints = new Checkpoints(primary as WatchPool);
  let clock: TestClock;
  /** The primary was at 90,000 when the longest allowed lag began, and is at 100,000 now. */
  const open = async (positions: Record<string, number | undefined>): Promise<Replicas> => {
    clock = new TestClock();
    Object.assign(seen, { primary: 90_000, ...positions });
    const replicas = new Replicas(
      Object.keys(positions)
        .filter((name) => name !== 'primary')
        .map(replicaOf),
      checkpoints,
      MAX_LAG_MS,
      clock,
    );
    await clock.advance(20);
    Object.assign(seen, { primary: 100_000, ...positions });
    await clock.advance(MAX_LAG_MS, 200);
    return replicas;
  };
  const nameOfAnswer = async (pool: Pool): Promise<string> => nameOf(pool);

  it('is answered by the replicas in turn that are not too far behind, and that answer', async () => {
    const replicas = await open({ a: 90_000, b: 89_999, c: 100_000, d: undefined });
    const asked: string[] = [];
    for (let n = 0; n < 4; n += 1) asked.push(await replicas.read('metrics', primary, nameOfAnswer));
    expect(asked.sort()).toEqual(['a', 'a', 'c', 'c']);
    await replicas.end();
  });

  it('is answered by the primary if no replica has reached the position that the answer must include', async () => {
    const replicas = await open({ a: 95_000, b: 99_000 });
    const asked: string[] = [];
    for (const position of [95_000, 95_001, 99_000, 99_001])
      for (let n = 0; n < 2; n += 1) asked.push(await replicas.read('metrics', primary, nameOfAnswer, position));
    expect(asked.slice(0, 2).sort()).toEqual(['a', 'b']);
    expect(asked.slice(2)).toEqual(['b', 'b', 'b', 'b', 'primary', 'primary']);
    await replicas.end();
  });

  it('is answered by a replica that answers while the primary does not', async () => {
    const replicas = await open({ primary: undefined, a: 1 });
    expect(await replicas.read('records', primary, async (pool) => nameOf(pool))).toBe('a');
    await replicas.end();
  });

  it('is answered by one that is too far behind only after the primary has not answered several looks', async () => {
    const replicas = await open({ a: 1 });
    const asked = (): Promise<string> => replicas.read('records', primary, nameOfAnswer);
    expect(await asked()).toBe('primary');
    seen['primary'] = undefined;
    await clock.advance(600, 100);
    expect(await asked()).toBe('primary');
    await clock.advance(1_000, 100);
    expect(await asked()).toBe('a');
    await replicas.end();
  });

  it.each(['40001', '57014', '57P01', 'ECONNREFUSED'])(
    'is asked of the primary, as a whole, where a replica fails with %s, and the next one at once',
    async (code) => {
      const replicas = await open({ a: 100_000 });
      const asked: string[] = [];
      const answer = async (pool: Pool, isReplica: boolean): Promise<string> => {
        asked.push(nameOf(pool));
        if (isReplica) throw failure(code);
        return 'answered';
      };
      for (const _ of [1, 2]) expect(await replicas.read('metrics', primary, answer)).toBe('answered');
      expect(asked).toEqual(['a', 'primary', 'primary']);
      await replicas.end();
    },
  );

  it('is asked of the primary where its reader has seen more, and the replica stays', async () => {
    const replicas = await open({ a: 100_000 });
    const asked: string[] = [];
    const answer = async (pool: Pool, isReplica: boolean): Promise<void> => {
      asked.push(nameOf(pool));
      requireReached(isReplica, 5, 6);
    };
    for (const _ of [1, 2]) await replicas.read('records', primary, answer);
    expect(asked).toEqual(['a', 'primary', 'a', 'primary']);
    expect(() => requireReached(true, 6, 6)).not.toThrow();
    expect(() => requireReached(true, null, 0)).toThrow(TooOld);
    await replicas.end();
  });

  it('is asked of the primary as soon as its replica is found silent', async () => {
    const replicas = await open({ a: 100_000 });
    const asked: string[] = [];
    const answer = (pool: Pool, isReplica: boolean): Promise<string> => {
      asked.push(nameOf(pool));
      return isReplica ? new Promise(() => {}) : Promise.resolve('answered');
    };
    const answers = [1, 2].map(() => replicas.read('metrics', primary, answer));
    expect(asked).toEqual(['a', 'a']);
    seen['a'] = undefined;
    await clock.advance(400, 100);
    expect(await Promise.all(answers)).toEqual(['answered', 'answered']);
    expect(asked).toEqual(['a', 'a', 'primary', 'primary']);
    await replicas.end();
  });

  it('that has a good reason to fail is not asked twice', async () => {
    const replicas = await open({ a: 100_000 });
    const answer = jest.fn(() => Promise.reject(new NotFound('Brand not found')));
    await expect(replicas.read('metrics', primary, answer)).rejects.toThrow('Brand not found');
    expect(answer).toHaveBeenCalledTimes(1);
    await replicas.end();
  });
});

describe('The API with DATABASE_READ_URL', () => {
  let app: TestApp;
  let replica: TestDatabase;
  let key: string;
  const now = Date.now();

  /** Which server answers shows in `X-As-Of`. */
  const setCheckpoint = (pool: Pool, asOf: number, position: number): Promise<unknown> =>
    pool.query(
      `insert into read.checkpoints (projection, log_id, position, as_of) values ('metrics', 'log', $2, $1)
        on conflict (projection) do update set as_of = excluded.as_of, position = excluded.position`,
      [asOf, position],
    );
  /** What each kind of metrics says it is as of. */
  const asOf = async (): Promise<string[]> => {
    const range = 'startDate=2026-03-01&endDate=2026-03-31';
    const routes = [
      `metrics?${range}`,
      `metrics/timeline?${range}&interval=week`,
      `metrics/comparison?${range}&with=year`,
    ];
    const said: string[] = [];
    for (const route of routes) {
      const answer = await fetch(`${app.url}/v2/organization/${route}`, { headers: { 'x-api-key': key } });
      await answer.text();
      expect(answer.status).toBe(200);
      said.push(answer.headers.get('x-as-of')!);
    }
    return said;
  };
  const areAsOf = async (instant: number): Promise<boolean> =>
    (await asOf()).every((said) => said === new Date(instant).toISOString());

  beforeAll(async () => {
    replica = await createDatabase();
    await setCheckpoint(replica.pool, now - 5_000, 3);
    app = await startApp({ env: { DATABASE_READ_URL: replica.url, READ_MAX_LAG: '1' } });
    await setCheckpoint(app.pool, now, 3);
    key = await app.issueKey({ organization: 'acme' });
  });
  afterAll(async () => {
    await app?.close();
    await replica?.drop().catch(() => {});
  });

  it('asks the primary nothing, and says as of when the replica is', async () => {
    await eventually('the replica answers', () => areAsOf(now - 5_000));
    const asked = jest.spyOn(app.app.get(MetricsPool), 'query');
    for (let n = 0; n < 5; n += 1) expect(await areAsOf(now - 5_000)).toBe(true);
    expect(asked).toHaveBeenCalledTimes(0);
  });

  it('passes over a replica that is too far behind, until it has caught up', async () => {
    await setCheckpoint(app.pool, now, 5);
    await eventually('the primary answers', () => areAsOf(now));
    await setCheckpoint(replica.pool, now - 1, 5);
    await eventually('the replica answers', () => areAsOf(now - 1));
    expect(await areAsOf(now)).toBe(false);
  });

  it('passes over a replica that is gone, without an error', async () => {
    const name = new URL(replica.url).pathname.slice(1);
    await app.pool.query(`alter database ${name} allow_connections false`);
    await app.pool.query(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`);
    expect(await areAsOf(now)).toBe(true);
  });
});
