import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Pool, QueryConfig } from 'pg';
import { NotFound } from '../../src/errors.js';
import type { Connection } from '../../src/postgres/statement.js';
import { GetMetrics, GetMetricsHandler } from '../../src/metrics/get-metrics.js';
import {
  GetRestatement,
  GetRestatementHandler,
  ListRestatedRecords,
  ListRestatedRecordsHandler,
} from '../../src/metrics/restatement/get-restatement.js';
import { MetricsQueries } from '../../src/metrics/metrics-queries.js';
import type { Moment } from '../../src/metrics/past-sql.js';
import { Checkpoints } from '../../src/read-models/checkpoints.js';
import { createReplicaPools, MetricsPool, type WatchPool } from '../../src/read-models/pools.js';
import { Replicas, TooOld } from '../../src/read-models/replicas.js';
import { requireReached } from '../../src/records/record-queries.js';
import { startApp, type TestApp } from '../support/app.js';
import { sharedDatabase } from '../support/open-for-tests.js';
import { eventually } from '../support/eventually.js';
import { type TcpProxy, startProxy } from '../support/tcp-proxy.js';
import { TestClock } from '../support/test-clock.js';
import { createDatabase, type TestDatabase } from '../support/postgres.js';

/** The positions of the projections on the server, or how the server fails. `silentAt` makes statements time out. */
type State = readonly number[] | 'away' | { readonly silentAt: 'begin' | 'select' };

const MAX_LAG_MS = 10_000;
const failure = (code: string): Error => Object.assign(new Error('no'), { code });

/** A database server whose pool supports only what a read uses. */
class Server {
  constructor(public state: State) {}

  readonly pool = {
    connect: async () => ({ query: this.query, release: () => {} }),
    query: (statement: string | QueryConfig) => this.query(statement),
    end: async () => {},
  } as unknown as Pool;

  private readonly query = async (statement: string | QueryConfig): Promise<unknown> => {
    const { text, query_timeout: limit } = (typeof statement === 'string' ? { text: statement } : statement) as {
      text: string;
      query_timeout?: number;
    };
    const { state } = this;
    if (state === 'away') throw failure('ECONNREFUSED');
    if ('silentAt' in state) {
      if (!text.startsWith(state.silentAt)) return { rows: [] };
      throw new Error(limit === undefined ? 'This statement has no time limit' : 'Query read timeout');
    }
    return { rows: state.map((position, n) => ({ projection: `projection-${n}`, position, asOf: 0 })) };
  };
}

describe('A read with replicas', () => {
  let clock: TestClock;
  let primary: Server;
  let replica: Server;
  let replicas: Replicas;
  /** READ_MAX_LAG_SECONDS ago, the primary was at position 90,000. The primary is now at position 100,000. */
  const open = async (state: State): Promise<void> => {
    clock = new TestClock();
    [primary, replica] = [new Server([90_000]), new Server(state)];
    const checkpoints = new Checkpoints(primary.pool as WatchPool);
    replicas = new Replicas({ metrics: replica.pool, records: replica.pool }, checkpoints, MAX_LAG_MS, clock);
    await clock.advance(20);
    primary.state = [100_000];
    await clock.advance(MAX_LAG_MS, 200);
  };
  const nameOfServer = async (_: Connection, isReplica: boolean): Promise<string> =>
    isReplica ? 'replica' : 'primary';
  const read = (minPosition?: number): Promise<string> =>
    replicas.read('metrics', primary.pool, nameOfServer, minPosition);

  it('uses a replica that has reached the position that the primary had READ_MAX_LAG_SECONDS ago, and no older replica', async () => {
    await open([90_000, 5]);
    expect(await read()).toBe('replica');
    replica.state = [89_999];
    expect(await read()).toBe('primary');
    replica.state = [90_000];
    expect(await read()).toBe('replica');
    await replicas.end();
  });

  it('uses a replica only if all its projections have reached the position of the consistency token', async () => {
    await open([95_000, 99_000]);
    expect([await read(95_000), await read(95_001), await read(95_000)]).toEqual(['replica', 'primary', 'replica']);
    await replicas.end();
  });

  it('uses the primary until the position of the primary is known', async () => {
    [primary, replica] = [new Server('away'), new Server([100_000])];
    const checkpoints = new Checkpoints(primary.pool as WatchPool);
    replicas = new Replicas({ metrics: replica.pool, records: replica.pool }, checkpoints, MAX_LAG_MS, new TestClock());
    expect(await read()).toBe('primary');
    await replicas.end();
  });

  it('uses a lagging replica only after five failed polls of the primary, and never one behind the consistency token', async () => {
    await open([1]);
    primary.state = 'away';
    await clock.advance(600, 100);
    expect(await read()).toBe('primary');
    await clock.advance(1_000, 100);
    expect([await read(), await read(1), await read(2)]).toEqual(['replica', 'replica', 'primary']);
    replica.state = [];
    expect([await read(), await read(0)]).toEqual(['replica', 'primary']);
    primary.state = [100_000];
    await clock.advance(400, 100);
    expect(await read()).toBe('primary');
    await replicas.end();
  });

  it.each(['40001', '57014', '57P01', 'ECONNREFUSED'])(
    'is repeated from the start on the primary if a replica fails with %s, and replicas are not used for a second',
    async (code) => {
      await open([100_000]);
      const queriedServers: string[] = [];
      const answer = async (connection: Connection, isReplica: boolean): Promise<void> => {
        queriedServers.push(await nameOfServer(connection, isReplica));
        if (isReplica) throw failure(code);
      };
      await replicas.read('metrics', primary.pool, answer);
      await clock.advance(900, 100);
      await replicas.read('metrics', primary.pool, answer);
      expect(queriedServers).toEqual(['replica', 'primary', 'primary']);
      await clock.advance(100);
      expect(await read()).toBe('replica');
      await replicas.end();
    },
  );

  it.each(['begin', 'select'] as const)(
    'uses the primary if a replica does not respond to `%s`, and replicas are not used for a second',
    async (silentAt) => {
      await open([100_000]);
      replica.state = { silentAt };
      expect(await read()).toBe('primary');
      replica.state = [100_000];
      expect(await read()).toBe('primary');
      await clock.advance(1_000, 100);
      expect(await read()).toBe('replica');
      await replicas.end();
    },
  );

  it('uses the primary if the client has seen newer rows than the replica has, and still uses the replica for later reads', async () => {
    await open([100_000]);
    const queriedServers: string[] = [];
    const answer = async (connection: Connection, isReplica: boolean): Promise<void> => {
      queriedServers.push(await nameOfServer(connection, isReplica));
      requireReached(isReplica, 5, 6);
    };
    for (const _ of [1, 2]) await replicas.read('records', primary.pool, answer);
    expect(queriedServers).toEqual(['replica', 'primary', 'replica', 'primary']);
    expect(() => requireReached(true, 6, 6)).not.toThrow();
    expect(() => requireReached(true, null, 0)).toThrow(TooOld);
    await replicas.end();
  });

  it('is not repeated on the primary if the error was not caused by the database', async () => {
    await open([100_000]);
    const answer = jest.fn(() => Promise.reject(new NotFound('Brand not found')));
    await expect(replicas.read('metrics', primary.pool, answer)).rejects.toThrow('Brand not found');
    expect(answer).toHaveBeenCalledTimes(1);
    expect(await read()).toBe('replica');
    await replicas.end();
  });
});

describe('A query about the past', () => {
  const database = sharedDatabase();

  it('needs a replica that has reached the states in question', async () => {
    const required: number[] = [];
    const asked = {
      read: (_: string, pool: Connection, query: (connection: Connection) => Promise<unknown>, minPosition: number) => {
        required.push(minPosition);
        return query(pool);
      },
    };
    const queries = new MetricsQueries(database.pool, asked as unknown as Replicas);
    const range = { from: 0, to: 1 };
    const [from, to] = [5, 9].map((position) => ({ position, instant: 0 })) as [Moment, Moment];
    const getMetrics = new GetMetricsHandler(queries);
    await getMetrics.execute(new GetMetrics({ organization: 'acme', range, minPosition: 3 }));
    await getMetrics.execute(new GetMetrics({ organization: 'acme', range, known: to }));
    await getMetrics.execute(new GetMetrics({ organization: 'acme', range, minPosition: 12, known: to }));
    const change = { organization: 'acme', range, from, known: to };
    await new GetRestatementHandler(queries).execute(new GetRestatement(change));
    await new ListRestatedRecordsHandler(queries).execute(
      new ListRestatedRecords({ ...change, limit: 1, maxBytes: 1 }),
    );
    expect(required).toEqual([3, 9, 12, 9, 9]);
  });
});

describe('The API with DATABASE_READ_URL', () => {
  let app: TestApp;
  let replica: TestDatabase;
  let proxy: TcpProxy;
  let key: string;
  const current = Date.now();

  /** The servers differ in their `X-As-Of`. */
  const setCheckpoint = (pool: Pool, asOf: number, position: number): Promise<unknown> =>
    pool.query(
      `insert into read.checkpoints (projection, log_id, position, as_of) values ('metrics', 'log', $2, $1)
        on conflict (projection) do update set as_of = excluded.as_of, position = excluded.position`,
      [asOf, position],
    );
  /** The `X-As-Of` of each metrics route. */
  const asOf = async (): Promise<string[]> => {
    const range = 'startDate=2026-03-01&endDate=2026-03-31';
    const routes = [
      `metrics?${range}`,
      `metrics/timeline?${range}&interval=week`,
      `metrics/comparison?${range}&with=year`,
    ];
    const logged: string[] = [];
    for (const route of routes) {
      const answer = await fetch(`${app.url}/v2/organization/${route}`, { headers: { 'x-api-key': key } });
      await answer.text();
      expect(answer.status).toBe(200);
      logged.push(answer.headers.get('x-as-of')!);
    }
    return logged;
  };
  const allRoutesReport = async (instant: number): Promise<boolean> =>
    (await asOf()).every((said) => said === new Date(instant).toISOString());

  beforeAll(async () => {
    replica = await createDatabase();
    await setCheckpoint(replica.pool, current - 5_000, 3);
    const replicaProxy = await startProxy(replica.url);
    ({ proxy } = replicaProxy);
    app = await startApp({ env: { DATABASE_READ_URL: replicaProxy.url, READ_MAX_LAG_SECONDS: '1' } });
    await setCheckpoint(app.pool, current, 3);
    key = await app.issueKey({ organization: 'acme' });
  });
  afterAll(async () => {
    await app?.close();
    await proxy?.close();
    await replica?.drop().catch(() => {});
  });

  it('sends no statement of a replica read to the primary, and returns the X-As-Of of the replica', async () => {
    const primaryQuery = jest.spyOn(app.app.get(MetricsPool), 'query');
    await eventually('the replica answers', async () => {
      primaryQuery.mockClear();
      return allRoutesReport(current - 5_000);
    });
    expect(primaryQuery).toHaveBeenCalledTimes(0);
  });

  it('reads the rows and the checked position from one snapshot of the replica', async () => {
    const pools = createReplicaPools(replica.url);
    const replicas = new Replicas(pools, { current: async () => new Map() }, 1_000);
    const position = (connection: Connection): Promise<unknown> =>
      connection.query({ text: 'select position from read.checkpoints' }).then(({ rows }) => rows[0].position);
    let seen: unknown;
    await eventually('the replica answers', () =>
      replicas.read('metrics', app.pool, async (connection, isReplica) => {
        await setCheckpoint(replica.pool, current - 5_000, 4);
        seen = await position(connection);
        await setCheckpoint(replica.pool, current - 5_000, 3);
        return isReplica;
      }),
    );
    expect(seen).toBe(3);
    await replicas.end();
  });

  it('reads from the primary while the replica is too far behind, and from the replica once it has caught up', async () => {
    await setCheckpoint(app.pool, current, 5);
    await eventually('the primary answers', () => allRoutesReport(current));
    await setCheckpoint(replica.pool, current - 1, 5);
    await eventually('the replica answers', () => allRoutesReport(current - 1));
  });

  it('reads the past from the primary while the replica has rows of a version that does not know the past', async () => {
    const setVersion = (pool: Pool, version: number): Promise<unknown> =>
      pool.query(`update read.checkpoints set version = $1 where projection = 'metrics'`, [version]);
    await setVersion(app.pool, 2);
    await app.pool.query('insert into read.log_clock (position, recorded_at) values (4, $1)', [current]);
    const past = async (): Promise<string | null> => {
      const url = `${app.url}/v2/organization/metrics?endDate=2026-03-31&knownAt=2026-04-01T00:00:00Z`;
      const answer = await fetch(url, { headers: { 'x-api-key': key } });
      expect([answer.status, await answer.text()]).toEqual([200, expect.any(String)]);
      return answer.headers.get('x-as-of');
    };
    await setVersion(replica.pool, 2);
    await eventually('the replica answers', async () => (await past()) === new Date(current - 1).toISOString());
    await setVersion(replica.pool, 1);
    expect(await past()).toBe(new Date(current).toISOString());
    await eventually('the replica answers', () => allRoutesReport(current - 1));
  });

  it('reads from the primary, without an error, while the replica does not respond', async () => {
    proxy.freeze();
    expect(await allRoutesReport(current)).toBe(true);
    proxy.unfreeze();
    await eventually('the replica answers', () => allRoutesReport(current - 1));
  });

  it('reads from the primary, without an error, if the replica is gone', async () => {
    const name = new URL(replica.url).pathname.slice(1);
    await app.pool.query(`alter database ${name} allow_connections false`);
    await app.pool.query(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`);
    expect(await allRoutesReport(current)).toBe(true);
  });
});
