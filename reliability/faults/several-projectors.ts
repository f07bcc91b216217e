import { NO_LIMITS } from '../../test/support/postgres.js';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool, PoolClient } from 'pg';
import { PROJECTIONS } from '../../projections/registry.js';
import { metrics } from '../../projections/metrics/projection.js';
import type { Projection } from '../../projections/engine/projection.js';
import { Projector } from '../../projections/engine/projector.js';
import { verify } from '../../projections/engine/verify.js';
import type { EventLog } from '../../src/event-log/event-log.js';
import { createPostgresLog } from '../../src/event-log/postgres/log.js';
import { GetMetrics, GetMetricsHandler } from '../../src/metrics/get-metrics.js';
import { MetricsQueries } from '../../src/metrics/metrics-queries.js';
import { createPool } from '../../src/postgres/pool.js';
import { naiveCount, newestStates } from '../../test/support/naive-count.js';
import { Random } from '../../test/support/random.js';
import { stored } from '../../test/support/upstream.js';
import type { Outcome, Scenario } from '../scenario.js';
import { randomQuery } from '../rig/check.js';
import { fullLoad, inBatches } from '../rig/load.js';
import type { RunContext } from '../rig/run-context.js';
import { type Interceptor, interceptQueries } from '../../test/support/query-interceptor.js';

const PROJECTORS = 3;
const KILL_PROBABILITY = 0.1;
const BATCH = 50;

/** A projection that, unlike those of the service, is not idempotent: it is wrong if an event is applied twice. */
const tally: Projection = {
  name: 'tally',
  tables: [],
  types: metrics.types,
  prepare:
    async (events) =>
    async ({ connection }) => {
      await connection.query('update tally set n = n + $1', [events.length]);
    },
};

/** Terminates the connection of one transaction in ten, at a random statement. */
const killing = (context: RunContext, pool: Pool, killer: Pool, onKill: () => void): Pool =>
  interceptQueries(pool, (connection) => {
    const { processID } = connection as PoolClient & { processID: number };
    let statementsLeft = context.random.chance(KILL_PROBABILITY) ? context.random.int(8) : -1;
    return async (statement, send) => {
      if (statementsLeft-- === 0) {
        onKill();
        await killer.query('select pg_terminate_backend($1)', [processID]);
      }
      return send(statement);
    };
  });

/** Removes the fence: the checkpoint is stored after the commit, without comparing its old value. */
const withoutFence = (pool: Pool): Pool =>
  interceptQueries(pool, () => {
    let moved: readonly unknown[] | undefined;
    const interceptor: Interceptor = async (statement, send) => {
      if (statement.name === 'checkpoints-move') {
        moved = statement.values;
        return send({ text: 'select unnest($1::text[])', values: [moved![0]] });
      }
      const result = await send(statement);
      if (statement.text === 'commit' && moved !== undefined)
        await pool.query(
          `update read.checkpoints c set position = greatest(c.position, m.position)
           from unnest($1::text[], $2::bigint[]) m (projection, position) where c.projection = m.projection`,
          [moved[0], moved[2]],
        );
      return result;
    };
    return interceptor;
  });

const caughtUp = async (pool: Pool, log: EventLog, timeoutMs: number): Promise<boolean> => {
  const head = Number(await log.head());
  for (const until = Date.now() + timeoutMs; Date.now() < until; await sleep(20)) {
    const { rows } = await pool.query<{ least: number | null }>('select min(position) as least from read.checkpoints');
    if (rows[0]!.least === head) return true;
  }
  return false;
};

const projectConcurrently = async (context: RunContext, events: number, hasFence: boolean): Promise<Outcome> => {
  const { random } = context;
  const database = await context.database();
  await database.pool.query('create table read.tally (n bigint); insert into read.tally values (0)');
  const open = (max?: number): Pool => {
    const pool = createPool(database.url, () => {}, { ...NO_LIMITS, max });
    context.onEnd(() => pool.end());
    return pool;
  };
  const log = await createPostgresLog(open());
  const all = [...fullLoad(random, events)];
  let killed = 0;
  const killer = open(1);
  const troubles: string[] = [];
  const stop = new AbortController();
  const running = Array.from({ length: PROJECTORS }, async () => {
    const pool = killing(context, hasFence ? open() : withoutFence(open()), killer, () => (killed += 1));
    const writerLog = await createPostgresLog(open(2));
    await new Projector(writerLog, pool, [...PROJECTIONS, tally], {
      onError: (sentence) => troubles.push(sentence),
    }).run(stop.signal);
  });
  const failed = Promise.all(running).then(
    () => '',
    (error: Error) => error.message,
  );
  // Appends small batches during the projection, so that there are many transactions.
  let appended = 0;
  for (const batch of inBatches(all, BATCH)) {
    await log.appendAll(batch.map(stored));
    appended += batch.length;
    await sleep(25);
    context.reportProgress(`${appended} of ${all.length} appended, ${killed} transactions killed`);
  }
  const reached = await Promise.race([caughtUp(database.pool, log, 15_000 + events * 3), failed.then(() => false)]);
  // Gives a lagging projector time to apply events again that others have applied.
  await sleep(300);
  stop.abort();
  const failure = await failed;
  const findings: string[] = failure === '' ? [] : [`A projector ended: ${failure}`];
  if (!reached) findings.push('The end of the log was not reached');
  const differences = await verify({ pool: database.pool, log }, PROJECTIONS);
  if (differences.length > 0) findings.push(`${differences.length} differences, ${JSON.stringify(differences[0])}`);
  const counted = all.filter(({ type }) => (metrics.types as readonly string[]).includes(type));
  const applied = (await database.pool.query<{ n: number }>('select n from read.tally')).rows[0]!.n;
  if (applied !== counted.length) findings.push(`${applied} events were applied instead of ${counted.length}`);
  const states = newestStates(counted);
  const handler = new GetMetricsHandler(new MetricsQueries(database.pool));
  const queries = new Random(context.seed);
  for (let n = 0; n < 40; n += 1) {
    const query = randomQuery(queries);
    const answered = await handler.execute(new GetMetrics({ ...query, range: query })).then(
      ({ result }) => result,
      (error: Error) => error.message,
    );
    const expected = naiveCount(states, query);
    if (JSON.stringify(answered) !== JSON.stringify(expected))
      findings.push(
        `${JSON.stringify(query)} gives ${JSON.stringify(answered)}, a recount ${JSON.stringify(expected)}`,
      );
  }
  const { rows } = await database.pool.query<{ parked: number; deadlocks: number }>(
    `select (select count(*) from read.parked_events) as parked,
       (select deadlocks from pg_stat_database where datname = current_database()) as deadlocks`,
  );
  if (rows[0]!.parked > 0) findings.push(`${rows[0]!.parked} events were parked`);
  if (rows[0]!.deadlocks > 0) findings.push(`${rows[0]!.deadlocks} deadlocks`);
  const waited = troubles.filter((sentence) => sentence.includes('wait')).length;
  return {
    workload: `${PROJECTORS} projectors, ${all.length} events, ${killed} of their transactions killed`,
    observed: `recount without differences, no deadlocks, ${waited} retries`,
    findings,
  };
};

export const severalProjectors: Scenario<{ readonly events: number }> = {
  name: 'F12',
  what: 'three projectors run concurrently, and 10 % of their transactions are killed',
  full: { events: 100_000 },
  run: (context, { events }) => projectConcurrently(context, events, true),
  guard: 'checkpoints are moved by compare-and-set in the transaction of the rows',
  controlScale: { events: 1_000 },
  withoutGuard: (context, { events }) => projectConcurrently(context, events, false),
};
