import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Pool, PoolClient } from 'pg';
import { metrics } from '../../../projections/metrics/projection.js';
import { listParked, retryParked } from '../../../projections/engine/parked.js';
import { PoisonEventIsolation } from '../../../projections/engine/poison-events.js';
import { ISOLATION_STATEMENT_TIMEOUT_MS } from '../../../projections/engine/projector.js';
import { rebuild } from '../../../projections/engine/rebuild.js';
import { STATEMENT_TIMEOUT_MS } from '../../../projections/engine/projection.js';
import { verify } from '../../../projections/engine/verify.js';
import type { EventLog } from '../../../src/event-log/event-log.js';
import { createPostgresLog } from '../../../src/event-log/postgres/log.js';
import { createPool } from '../../../src/postgres/pool.js';
import { Backoff } from '../../../src/flow/time.js';
import { type Interceptor, interceptQueries } from '../../support/query-interceptor.js';
import { eventually } from '../../support/eventually.js';
import { startProxy } from '../../support/tcp-proxy.js';
import { createDatabase, type TestDatabase, NO_LIMITS } from '../../support/postgres.js';
import { type Projecting, projectToHead, startProjecting } from '../../support/projecting.js';
import { recordedInOrder, sent, type Sent, stored } from '../../support/upstream.js';
import { textsIn } from '../../support/binary-array.js';

let database: TestDatabase;
let log: EventLog;
let troubles: string[];

beforeEach(async () => {
  database = await createDatabase();
  log = await createPostgresLog(createPool(database.url, () => {}, NO_LIMITS));
  troubles = [];
});

afterEach(async () => {
  await log.close();
  await database.drop();
});

const report = (n: number, brands = 0): Sent =>
  sent(
    'ReportFiled',
    {
      organization: 'acme',
      reportId: `r-${n}`,
      brands: Array.from({ length: brands }, (_, index) => `b-${n}-${index}`),
      createdAt: '2026-01-01T00:00:00Z',
      updatedAt: '2026-01-01T00:00:00Z',
    },
    `report-${n}`,
  );
const reports = (size: number, from = 0): Sent[] => Array.from({ length: size }, (_, index) => report(from + index));
const idOf = (event: Sent): string => stored(event).event.id;

const append = async (events: readonly Sent[]): Promise<void> => {
  await log.appendAll(events.map(stored));
};

const firstNumber = async (text: string): Promise<number> =>
  (await database.pool.query<{ n: number }>(text)).rows[0]?.n ?? 0;
const counted = (): Promise<number> => firstNumber(`select coalesce(sum(n), 0) as n from read.days where brand = ''`);
const position = (): Promise<number> =>
  firstNumber(`select position as n from read.checkpoints where projection = 'metrics'`);

/** The backoff is short, but long enough for the database to respond between retries. */
const options = () => ({ backoff: new Backoff(1, 20), watchedBy: database.pool });
const project = async (pool: Pool): Promise<void> => {
  troubles.push(...(await projectToHead(log, pool, [metrics], options())));
};

/** A pool on which every statement that writes the facts of this record fails. */
const poolWithFailingFacts = (
  record: string,
  harm: (connection: PoolClient, send: Parameters<Interceptor>[1]) => Promise<unknown>,
): Pool =>
  interceptQueries(database.pool, (connection) => async (statement, send) => {
    if (statement.name === 'metrics-insert-facts' && textsIn(statement.values?.[5]).includes(record))
      await harm(connection, send);
    return send(statement);
  });

const kill = async (connection: PoolClient): Promise<void> => {
  const { processID } = connection as unknown as { processID: number };
  await database.pool.query('select pg_terminate_backend($1)', [processID]);
};

/** Shortens the timeout that the projector has set, for the current transaction only. */
const SHORTEN_LIMIT = `
  select set_config('statement_timeout', '5ms', true) where current_setting('statement_timeout') in ('${STATEMENT_TIMEOUT_MS / 1_000}s', '${ISOLATION_STATEMENT_TIMEOUT_MS / 1_000}s')`;

const sleepForEver = async (_: PoolClient, send: Parameters<Interceptor>[1]): Promise<void> => {
  const { rowCount } = await send({ text: SHORTEN_LIMIT });
  if (rowCount === 0) throw new Error('The projector has set no limit');
  await send({ text: 'select pg_sleep(60)' });
};

const waitForLock = async (_: PoolClient, send: Parameters<Interceptor>[1]): Promise<never> => {
  await send({ text: 'select 1' });
  throw Object.assign(new Error('canceling statement due to lock timeout'), { code: '55P03' });
};

describe('A poison event, which fails with a transient error at every attempt', () => {
  it.each([
    ['exceeds the statement timeout', sleepForEver, 'statement timeout', 41, 23],
    ['exceeds the timeout as the last event of the log', sleepForEver, 'statement timeout', 8, 7],
    ['exceeds the timeout as the only event', sleepForEver, 'statement timeout', 1, 0],
    ['exceeds the lock timeout', waitForLock, 'lock timeout', 41, 0],
    ['loses the connection', kill, 'connection', 41, 40],
  ])(
    'is parked if it %s; all other events are applied and the checkpoint advances',
    async (_, harm, reason, size, poisonIndex) => {
      await append(reports(size));
      await project(poolWithFailingFacts(`r-${poisonIndex}`, harm));
      expect(await position()).toBe(Number(await log.head()));
      expect(await counted()).toBe(size - 1);
      expect(await listParked(database.pool)).toMatchObject([
        { event_id: idOf(report(poisonIndex)), reason: expect.stringMatching(new RegExp(reason, 'i')) },
      ]);
      expect(troubles.join('\n')).toContain(`event ${idOf(report(poisonIndex))}`);
    },
  );

  it('is parked together with another poison event of the same batch', async () => {
    await append(reports(20));
    const pool = interceptQueries(database.pool, () => async (statement, send) => {
      if (
        statement.name === 'metrics-insert-facts' &&
        textsIn(statement.values?.[5]).some((record) => /^r-(5|6|17)$/.test(record))
      )
        await sleepForEver(undefined as never, send);
      return send(statement);
    });
    await project(pool);
    expect((await listParked(database.pool)).map(({ event_id }) => event_id)).toEqual(
      [5, 6, 17].map((n) => idOf(report(n))),
    );
    expect(await counted()).toBe(17);
  });

  it('is also parked by a rebuild and by a verification, which do not fail', async () => {
    await append(reports(9));
    const pool = poolWithFailingFacts('r-4', sleepForEver);
    await project(pool);
    await rebuild({ pool, log }, [metrics]);
    expect(await counted()).toBe(8);
    expect(await listParked(database.pool)).toMatchObject([{ event_id: idOf(report(4)) }]);
    expect(await verify({ pool, log }, [metrics])).toEqual([]);
  });

  it('stays parked if it is retried while it still fails, and later events are applied', async () => {
    await append(reports(9));
    const pool = poolWithFailingFacts('r-4', sleepForEver);
    await project(pool);
    await retryParked(log, await listParked(database.pool));
    await append([report(9)]);
    await project(pool);
    expect(await counted()).toBe(9);
    expect(await listParked(database.pool)).toMatchObject([
      { event_id: idOf(report(4)), attempts: 2, reason: expect.stringContaining('statement timeout') },
    ]);
  });

  it('is parked by a rebuild that cannot apply it at the position of its retry', async () => {
    await append(reports(9));
    const pool = poolWithFailingFacts('r-4', sleepForEver);
    await project(pool);
    await retryParked(log, await listParked(database.pool));
    await project(database.pool);
    expect(await counted()).toBe(9);
    await rebuild({ pool, log }, [metrics]);
    expect(await counted()).toBe(8);
  });
});

describe('An outage parks no event', () => {
  /** Waits until there were more attempts than it takes to park a poison event. */
  const failsOften = (projecting: Projecting): Promise<void> =>
    eventually('the projector has failed often', () => projecting.troubles.length > 4);

  /** Runs the projector while a lock is held, and then without the lock up to the end of the log. */
  const outlasts = async (lock: string): Promise<Projecting> => {
    const holder = await database.pool.connect();
    await holder.query(`begin; ${lock}`);
    const pool = createPool(database.url, () => {}, { lock_timeout: 50 });
    const projecting = startProjecting(log, pool, [metrics], options());
    await failsOften(projecting);
    await holder.query('rollback');
    holder.release();
    await projecting.reached();
    await projecting.stop();
    await pool.end();
    return projecting;
  };

  it('while the tables are locked, and the error names the position', async () => {
    await append(reports(1));
    const { troubles: reported } = await outlasts('lock table read.facts in exclusive mode');
    expect(await listParked(database.pool)).toEqual([]);
    expect(await counted()).toBe(1);
    expect(reported[0]).toContain(`event ${idOf(report(0))}`);
  });

  it('while a rebuild locks the checkpoint', async () => {
    await append(reports(1));
    await project(database.pool);
    await append([report(1)]);
    await outlasts('select from read.checkpoints for update');
    expect(await listParked(database.pool)).toEqual([]);
    expect(await counted()).toBe(2);
  });

  it('while the database is unavailable, and the event is applied after the recovery', async () => {
    await append(reports(1));
    const { proxy, url } = await startProxy(database.url);
    const pool = createPool(url, () => {}, { connectionTimeoutMillis: 200, query_timeout: 500 });
    const projecting = startProjecting(log, pool, [metrics], options());
    await eventually('the projector has failed often', () => {
      proxy.dropConnections();
      return projecting.troubles.length > 4;
    });
    await projecting.reached();
    await projecting.stop();
    await pool.end();
    await proxy.close();
    expect(await listParked(database.pool)).toEqual([]);
    expect(await counted()).toBe(1);
  });

  it('if the disk is full', async () => {
    await append(reports(1));
    let failuresLeft = 6;
    const pool = interceptQueries(database.pool, () => async (statement, send) => {
      if (statement.name === 'metrics-insert-facts' && failuresLeft-- > 0)
        throw Object.assign(new Error('could not extend file'), { code: '53100' });
      return send(statement);
    });
    await project(pool);
    expect(await listParked(database.pool)).toEqual([]);
    expect(await counted()).toBe(1);
  });
});

describe('A batch with many facts', () => {
  it('is split into several transactions and counted completely', async () => {
    const events = Array.from({ length: 12 }, (_, n) => report(n, 1_000));
    await append(events);
    const sizes: number[] = [];
    const pool = interceptQueries(database.pool, () => async (statement, send) => {
      if (statement.name === 'metrics-insert-facts') sizes.push(textsIn(statement.values![0]).length);
      return send(statement);
    });
    await project(pool);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(5_000);
    expect(await firstNumber('select count(*) as n from read.facts')).toBe(12 * 1_001);
    expect(await firstNumber('select as_of as n from read.checkpoints')).toBeGreaterThan(0);
    expect(await listParked(database.pool)).toEqual([]);
    expect(await verify({ pool, log }, [metrics])).toEqual([]);
  });

  it('is split into pieces of at most 98 retries, because each retry reads its event', () => {
    const [event] = recordedInOrder([report(0)]);
    const retries = Array.from({ length: 3_000 }, (_, n) => ({
      ...event!,
      type: 'ParkedEventRetried',
      position: BigInt(n),
    }));
    const pieces = new PoisonEventIsolation().split({ events: retries, position: 2_999n });
    expect(Math.max(...Array.from(pieces, ({ events }) => events.length))).toBe(98);
  });
});
