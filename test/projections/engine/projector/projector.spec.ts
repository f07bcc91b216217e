import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { brandsAndFlags } from '../../../../projections/brands-and-flags.js';
import { ForeignCheckpoint } from '../../../../projections/engine/checkpoints.js';
import { type MetricEvent, metrics } from '../../../../projections/metrics/projection.js';
import { dropParked, listParked, projectionStatus } from '../../../../projections/engine/parked.js';
import type { Projection } from '../../../../projections/engine/projection.js';
import { Projector } from '../../../../projections/engine/projector.js';
import { rebuild } from '../../../../projections/engine/rebuild.js';
import { verify } from '../../../../projections/engine/verify.js';
import { BEGINNING, type EventLog } from '../../../../src/event-log/event-log.js';
import { legacyEventIdOf } from '../../../../src/events/streams.js';
import { createPostgresLog } from '../../../../src/event-log/postgres/log.js';
import { createPool } from '../../../../src/postgres/pool.js';
import { Backoff } from '../../../../src/flow/time.js';
import { type Span, setTracing } from '../../../../src/runtime/tracing.js';
import { type Interceptor, interceptQueries } from '../../../support/query-interceptor.js';
import { eventually } from '../../../support/eventually.js';
import { createDatabase, type TestDatabase, NO_LIMITS } from '../../../support/postgres.js';
import { type Projecting, projectToHead, startProjecting, retryAndProject } from '../../../support/projecting.js';
import { Random } from '../../../support/random.js';
import { eventId, sent, type Sent, sentThreat, stored } from '../../../support/upstream.js';
import { history } from '../../../support/histories.js';

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

const append = async (events: readonly Sent[]): Promise<void> => {
  await log.appendAll(events.map(stored));
};

const positionOf = async (projection: string): Promise<bigint> => {
  const text = 'select position from read.checkpoints where projection = $1';
  return BigInt((await database.pool.query<{ position: number }>(text, [projection])).rows[0]?.position ?? -2);
};

const start = (projections: readonly Projection[], pool = database.pool): Projecting =>
  startProjecting(log, pool, projections, { backoff: new Backoff(1, 20), watchedBy: database.pool });

/** Runs the projections up to the current end of the log. */
const project = async (projections: readonly Projection[]): Promise<void> => {
  troubles.push(...(await projectToHead(log, database.pool, projections)));
};

const threat = (n: number, organization = 'acme'): Sent =>
  sentThreat(`t-${n}`, { organization }, `threat-${organization}-${n}`);

const threats = (size: number, from = 0): Sent[] => Array.from({ length: size }, (_, index) => threat(from + index));

const countedThreats = async (): Promise<number> =>
  (await database.pool.query<{ n: number }>(`select coalesce(sum(n), 0) as n from read.days where brand = ''`)).rows[0]!
    .n;

/** A projection that fails to apply these events while `cause.there`. */
const refusing = (failingEvents: readonly Sent[], cause = { there: true }): Projection<MetricEvent> => {
  const ids = new Set(failingEvents.map(eventId));
  return {
    ...metrics,
    prepare: async (events, recorded) => {
      const write = await metrics.prepare(events, recorded);
      return async (transaction) => {
        await write(transaction);
        const found = events.find(({ id }) => ids.has(id));
        if (cause.there && found) throw new Error(`cannot apply ${found.stream}`);
      };
    },
  };
};

/** A projection that is not idempotent, so its rows show whether an event was applied twice or not at all. */
const counting: Projection = {
  name: 'counting',
  tables: ['brands'],
  types: ['ThreatStatusChanged'],
  prepare:
    async (events) =>
    async ({ connection }) => {
      await connection.query(
        `insert into brands values ('counted', 'threats', null, true, $1, gen_random_uuid())
       on conflict (organization, brand) do update set version = brands.version + excluded.version`,
        [events.length],
      );
    },
};

const counted = async (): Promise<number> =>
  (await database.pool.query<{ version: number }>('select version from read.brands')).rows[0]?.version ?? 0;

describe('Events that cannot be applied', () => {
  it.each([
    ['first', [0]],
    ['in the middle', [16]],
    ['last', [32]],
    ['first, middle and last, and two in a row', [0, 7, 8, 16, 32]],
    ['all of them', Array.from({ length: 33 }, (_, index) => index)],
  ])('are parked once each, and the other events of the batch are applied: %s', async (_, places) => {
    const all = threats(33);
    const failingEvents = places.map((place) => all[place]!);
    await append(all);
    const projection = refusing(failingEvents);
    await project([projection]);
    expect(await countedThreats()).toBe(33 - failingEvents.length);
    const parked = await listParked(database.pool);
    expect(parked.map(({ event_id }) => event_id)).toEqual(failingEvents.map(eventId));
    expect(parked[0]).toMatchObject({
      projection: 'metrics',
      type: 'ThreatStatusChanged',
      stream: `threat-acme:t-${places[0]}`,
      reason: `cannot apply threat-acme:t-${places[0]}`,
      attempts: 1,
    });
    expect(troubles.filter((sentence) => sentence.startsWith('Parked event'))).toHaveLength(failingEvents.length);
    // All events are applied again, as after a restore of the read models.
    await database.pool.query(
      `update read.checkpoints set position = -1, last_stream = null, last_revision = null, last_event_id = null`,
    );
    await project([projection]);
    expect((await listParked(database.pool)).map(({ attempts }) => attempts)).toEqual(failingEvents.map(() => 1));
  });

  it('are also parked if they cannot be prepared, by the projector and by a rebuild', async () => {
    const bad = eventId(threat(1));
    const projection: Projection<MetricEvent> = {
      ...metrics,
      prepare: async (events, recorded) => {
        if (events.some(({ id }) => id === bad)) throw new Error('cannot prepare it');
        return metrics.prepare(events, recorded);
      },
    };
    await append(threats(3));
    await project([projection]);
    await rebuild({ pool: database.pool, log }, [projection]);
    expect(await listParked(database.pool)).toMatchObject([{ event_id: bad, reason: 'cannot prepare it' }]);
    expect(await countedThreats()).toBe(2);
  });

  it('do not delay later events or other projections', async () => {
    const brand = sent('BrandRegistered', { organization: 'acme', brand: 'wallet', updatedAt: '2026-01-01T00:00:00Z' });
    const running = start([refusing([threat(1)]), brandsAndFlags]);
    await append([threat(0), threat(1), brand, threat(2)]);
    await running.reached();
    await append(threats(10, 3));
    await running.reached();
    await running.stop();
    expect(await countedThreats()).toBe(12);
    expect((await database.pool.query('select from read.brands')).rowCount).toBe(1);
  });

  it('are applied by a retry after the cause is fixed; otherwise the retry counts an attempt', async () => {
    const cause = { there: true };
    const projection = refusing([threat(1)], cause);
    await append(threats(3));
    await project([projection]);
    const [parked] = await listParked(database.pool);
    expect(await retryAndProject({ pool: database.pool, log }, projection, parked!)).toBe(
      'cannot apply threat-acme:t-1',
    );
    expect(await listParked(database.pool)).toMatchObject([{ attempts: 2 }]);
    expect(await countedThreats()).toBe(2);
    cause.there = false;
    expect(await retryAndProject({ pool: database.pool, log }, projection, parked!)).toBeUndefined();
    expect(await listParked(database.pool)).toEqual([]);
    expect(await countedThreats()).toBe(3);
    expect(await verify({ pool: database.pool, log }, [metrics])).toEqual([]);
  });

  it('stay parked in one projection when another projection has applied them', async () => {
    const other = { ...refusing([threat(1)]), name: 'takedowns', tables: [] };
    await append(threats(3));
    await project([refusing([threat(1)]), other]);
    const [parked] = (await listParked(database.pool)).filter(({ projection }) => projection === metrics.name);
    expect(await retryAndProject({ pool: database.pool, log }, metrics, parked!)).toBeUndefined();
    expect(await listParked(database.pool)).toMatchObject([{ projection: 'takedowns' }]);
  });

  it('are removed by a drop, which is stored in the log and applies to a rebuild', async () => {
    const projection = refusing([threat(1), threat(2)]);
    await append(threats(4));
    const running = start([projection]);
    await running.reached();
    const [one] = await listParked(database.pool, eventId(threat(1)));
    await dropParked(log, [one!], 'upstream made it up');
    await running.reached();
    expect(await listParked(database.pool)).toMatchObject([{ event_id: eventId(threat(2)) }]);
    await rebuild({ pool: database.pool, log }, [projection]);
    expect(await listParked(database.pool)).toMatchObject([{ event_id: eventId(threat(2)) }]);
    await running.stop();
    expect(await countedThreats()).toBe(2);
  });

  it('are not applied after a drop, and not without a retry, although a rebuild can apply them by now', async () => {
    await append(threats(4));
    await project([refusing([threat(1), threat(2)])]);
    const [one] = await listParked(database.pool, eventId(threat(1)));
    await dropParked(log, [one!], 'upstream made it up');
    await project([metrics]);
    await rebuild({ pool: database.pool, log }, [metrics]);
    const [other, ...none] = await listParked(database.pool);
    expect([other?.event_id, none]).toEqual([eventId(threat(2)), []]);
    expect(await countedThreats()).toBe(2);
    expect(await retryAndProject({ pool: database.pool, log }, metrics, other!)).toBeUndefined();
    expect(await countedThreats()).toBe(3);
    expect(await verify({ pool: database.pool, log }, [metrics])).toEqual([]);
    await database.pool.query(`truncate ${[...metrics.tables, 'checkpoints'].map((table) => `read.${table}`).join()}`);
    await project([metrics]);
    expect(await countedThreats()).toBe(3);
  });

  it('are not applied by a rebuild during which they are dropped', async () => {
    await append(threats(3));
    await project([refusing([threat(1)])]);
    const [one] = await listParked(database.pool);
    const readAll = log.readAll.bind(log);
    let reads = 0;
    log.readAll = async (...given) => {
      const page = await readAll(...given);
      if ((reads += 1) === 1) await dropParked(log, [one!], 'upstream made it up');
      return page;
    };
    await rebuild({ pool: database.pool, log }, [metrics]);
    expect(await countedThreats()).toBe(2);
    expect(await verify({ pool: database.pool, log }, [metrics])).toEqual([]);
  });

  it('are retried as the log has them by then, not as they were parked', async () => {
    const cause = { there: true };
    const projection = refusing([threat(1)], cause);
    await append(threats(3));
    await project([projection]);
    cause.there = false;
    const [parked] = await listParked(database.pool);
    // What concerns an erased organization is removed from the event meanwhile.
    await database.pool.query(
      `update log.events set data = (data::jsonb - 'asset')::json where event_id = '${parked!.event_id}'`,
    );
    expect(await retryAndProject({ pool: database.pool, log }, projection, parked!)).toContain('data.asset');
    expect(await countedThreats()).toBe(2);
  });

  it('are parked if the database rejects their data, but not if it would reject any event', async () => {
    await database.pool.query(`alter table read.records add constraint small check (id <> 't-1')`);
    await append(threats(3));
    await project([metrics]);
    expect(await listParked(database.pool)).toMatchObject([{ reason: expect.stringContaining('"small"') }]);
    await database.pool.query('alter table read.facts rename to gone');
    await append([threat(3)]);
    await expect(project([metrics])).rejects.toThrow('relation "facts" does not exist');
    expect(await listParked(database.pool)).toHaveLength(1);
    await database.pool.query('alter table read.gone rename to facts');
    await project([metrics]);
    expect(await countedThreats()).toBe(3);
  });

  it('are parked with the reason if they are invalid, and counted if their type is unknown', async () => {
    const good = stored(threat(0));
    const event = (id: number, changes: object) => ({
      ...good.event,
      id: `00000000-0000-4000-8000-00000000000${id}`,
      ...changes,
    });
    await log.append(good.stream, 'any', [event(1, { data: { organization: 'acme' } })]);
    await log.append(good.stream, 'any', [event(2, {})]);
    await log.append('threat-acme:other', 'any', [event(3, {})]);
    await log.append('anything', 'any', [event(4, { type: 'SomethingNewer' }), event(5, { type: 'SomethingElse' })]);
    await append([threat(0)]);
    await project([metrics, brandsAndFlags]);
    expect((await listParked(database.pool)).map(({ projection, reason }) => [projection, reason])).toEqual([
      ['metrics', expect.stringContaining('data.threatId')],
      ['metrics', expect.stringContaining('the event id must be')],
      ['metrics', 'the stream must be threat-acme:t-0'],
    ]);
    expect(await projectionStatus(database.pool, log)).toMatchObject([
      { projection: 'brands-and-flags', lag: '0', parked: 0, unknown: 2 },
      { projection: 'metrics', lag: '0', parked: 3, unknown: 2 },
    ]);
    expect(await countedThreats()).toBe(1);
  });
});

/** A projection whose writes fail this many times, as with a full disk or a locked table. */
const failing = (times: number, code: string): Projection<MetricEvent> => {
  let failuresLeft = times;
  return {
    ...metrics,
    prepare: async (events, recorded) => {
      const write = await metrics.prepare(events, recorded);
      return async (transaction) => {
        if (events.length > 0 && failuresLeft-- > 0) throw Object.assign(new Error('cannot write'), { code });
        await write(transaction);
      };
    },
  };
};

describe('Rows that cannot be written for a while', () => {
  /** Runs the projector until a row is counted. @returns log lines and pauses, in order */
  const projectAtLast = async (projection: Projection): Promise<string[]> => {
    const notes: string[] = [];
    const backoff = new Backoff(1, 20);
    const [next, reset] = [backoff.next.bind(backoff), backoff.reset.bind(backoff)];
    backoff.next = () => (notes.push('waits longer'), next());
    backoff.reset = () => (notes.push('waits no longer'), reset());
    const stop = new AbortController();
    const noteStart = (sentence: string): void => void notes.push(sentence.split(':')[0]!);
    const running = new Projector(log, database.pool, [projection], {
      onError: noteStart,
      onRecovery: noteStart,
      backoff,
    }).run(stop.signal);
    await eventually('the rows are written', async () => (await countedThreats()) > 0);
    stop.abort();
    await running;
    return notes;
  };

  it('are retried with exponential backoff, and recovery is logged only after they are written', async () => {
    await append(threats(3));
    const notes = await projectAtLast(failing(3, '53100'));
    const failure = ['The read models cannot advance, retrying', 'waits longer'];
    expect(notes.slice(0, 8)).toEqual([
      ...[failure, failure, failure].flat(),
      'waits no longer',
      'The read models advance again',
    ]);
    expect(notes.slice(8).filter((note) => note !== 'waits no longer')).toEqual([]);
  });

  it('leave no span open', async () => {
    const open = new Set<Span>();
    let begunSpans = 0;
    const begin = (): Span => {
      const span = { traceparent: '', hasEnded: false, set: () => {}, end: () => void open.delete(span) };
      open.add(span);
      begunSpans += 1;
      return span;
    };
    setTracing({ begin, within: (_, work) => work(), active: () => [], close: () => Promise.resolve() });
    try {
      await append(threats(8));
      // After the second failure the projector tries halves of the batch, and prepares one half while the previous one
      // fails.
      await projectAtLast(failing(4, '40001'));
    } finally {
      setTracing(undefined);
    }
    expect(begunSpans).toBeGreaterThan(4);
    expect(open.size).toBe(0);
  });
});

describe('Events whose id depends only on source and id (before 2.1)', () => {
  it('are still counted, and are counted once if they are sent again with the new id', async () => {
    const sending = threats(20).map(stored);
    await log.appendAll(
      sending.map(({ stream, event }) => {
        const { source, id } = event.metadata as { source: string; id: string };
        return { stream, event: { ...event, id: legacyEventIdOf(source, id) } };
      }),
    );
    await project([metrics]);
    expect(await countedThreats()).toBe(20);
    expect((await log.appendAll(sending)).some(({ duplicate }) => duplicate)).toBe(false);
    await project([metrics]);
    expect(await countedThreats()).toBe(20);
    expect([await listParked(database.pool), troubles]).toEqual([[], []]);
  });
});

describe('The checkpoint', () => {
  it('ensures that every event is applied once while several projectors run', async () => {
    const pools = [0, 1, 2].map(() => createPool(database.url, () => {}, NO_LIMITS));
    const running = pools.map((pool) => start([counting], pool));
    for (let n = 0; n < 40; n += 1) await append(threats(25, 25 * n));
    for (const one of running) await one.reached();
    await append(threats(25, 1_000));
    for (const one of running) await one.reached();
    for (const one of running) await one.stop();
    for (const pool of pools) await pool.end();
    expect(await counted()).toBe(1_025);
  });

  it('does not move over events that the log lost while their write waited for a connection', async () => {
    const stopped = { at: BEGINNING, reached: (): void => {}, go: Promise.resolve() };
    const hanging = interceptQueries(database.pool, () => async (statement, send) => {
      if (statement.text.startsWith('begin') && (await log.head()) > stopped.at) {
        stopped.reached();
        await stopped.go;
      }
      return send(statement);
    });
    const projecting = start([metrics], hanging);
    await append(threats(3));
    await projecting.reached();
    stopped.at = await log.head();
    let go = (): void => {};
    stopped.go = new Promise((resolve) => (go = resolve));
    const isHanging = new Promise<void>((resolve) => (stopped.reached = resolve));
    await append(threats(2, 10));
    await isHanging;
    // A failover: the read models and their checkpoint are as before the lost events.
    await database.pool.query('delete from log.events where position > $1', [stopped.at]);
    await append(threats(5, 20));
    go();
    await projecting.reached();
    await projecting.stop();
    expect(projecting.troubles).toEqual([
      expect.stringMatching(/^The read models cannot advance.*no longer in the log/),
    ]);
    expect(await countedThreats()).toBe(8);
    expect(await verify({ pool: database.pool, log }, [metrics])).toEqual([]);
  });

  it('is locked for at most the duration of a lease by a projector that stalls in its transaction', async () => {
    const limits: unknown[] = [];
    const asking: Projection<MetricEvent> = {
      ...metrics,
      prepare:
        async () =>
        async ({ connection }) => {
          limits.push(...(await connection.query('show idle_in_transaction_session_timeout')).rows);
        },
    };
    await append([threat(1)]);
    await project([asking]);
    expect(limits).toEqual([{ idle_in_transaction_session_timeout: '3s' }]);
  });

  it('is lost together with the rows if the connection dies, and both are written again (one transaction in ten fails)', async () => {
    const random = new Random(4);
    let killed = 0;
    const pool = interceptQueries(database.pool, (connection) => {
      let statementsLeft = random.chance(0.1) ? random.int(5) : -1;
      const interceptor: Interceptor = async (statement, send) => {
        if (statementsLeft-- === 0) {
          killed += 1;
          const { processID } = connection as unknown as { processID: number };
          await database.pool.query('select pg_terminate_backend($1)', [processID]);
        }
        return send(statement);
      };
      return interceptor;
    });
    const running = start([counting], pool);
    for (let n = 0; n < 40; n += 1) {
      await append(threats(10, 10 * n));
      await running.reached();
    }
    await running.stop();
    expect(await counted()).toBe(400);
    expect(killed).toBeGreaterThan(0);
    expect(running.troubles.join()).toContain('The read models cannot advance, retrying');
  });

  const query = (text: string): Promise<unknown> => database.pool.query(text);
  it.each([
    [
      'another log',
      () => query(`update read.checkpoints set log_id = 'another'`),
      'The read model of "metrics" was filled from log another',
    ],
    ['a longer log', () => query('delete from log.events where position = 4'), 'the log ends at 3'],
    [
      'a log that was restored and continued with other events',
      async () => {
        await query('delete from log.events where position >= 3');
        await append(threats(5, 4));
      },
      'is no longer in the log: the log was restored to an earlier state',
    ],
    [
      'a log in which the same events have come in another order',
      async () => {
        await query('delete from log.events where position >= 3');
        await append([...threats(2, 4), ...threats(2, 2)]);
      },
      'position 4, but that event is at position 6 now',
    ],
  ])('of %s stops the projector with an explanation', async (_, change, sentence) => {
    await append(threats(4));
    await project([metrics]);
    await change();
    const projector = new Projector(log, database.pool, [metrics], { onError: (sentence) => troubles.push(sentence) });
    const failure = await projector.run(AbortSignal.timeout(10_000)).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ForeignCheckpoint);
    expect((failure as Error).message).toContain(sentence);
  });

  it('of a new projection starts at the beginning, and other projections do not apply events again while it catches up', async () => {
    const readAfter: bigint[] = [];
    const watched: Projection<MetricEvent> = {
      ...metrics,
      prepare: (events, recorded) => {
        readAfter.push(...events.map(({ position }) => position));
        return metrics.prepare(events, recorded);
      },
    };
    const brand = (n: number): Sent =>
      sent('BrandRegistered', { organization: 'acme', brand: `b-${n}`, updatedAt: '2026-01-01T00:00:00Z' });
    await append([...threats(5), brand(1)]);
    await project([watched]);
    expect(await positionOf('brands-and-flags')).toBeLessThan(BEGINNING);
    await append([threat(5), brand(2)]);
    await project([watched, brandsAndFlags]);
    expect((await database.pool.query('select from read.brands')).rowCount).toBe(2);
    expect(readAfter).toEqual([1n, 2n, 3n, 4n, 5n, 7n]);
    expect(await countedThreats()).toBe(6);
  });
});

describe('A rebuild or verification', () => {
  const source = () => ({ pool: database.pool, log });

  it('never shows readers fewer rows while events arrive, and ends with the same rows', async () => {
    await append([...threats(3_000), ...history(new Random(5), 300)]);
    const running = start([metrics]);
    await running.reached();
    const floor = await countedThreats();
    const counts: number[] = [];
    const reading = new AbortController();
    const reader = (async () => {
      for (let last = floor; !reading.signal.aborted;) {
        const now = await countedThreats();
        if (now < last) counts.push(now);
        last = now;
      }
    })();
    const writer = (async () => {
      for (let n = 0; !reading.signal.aborted; n += 1) {
        await append(threats(5, 10_000 + 5 * n));
        await running.reached();
      }
    })();
    for (let round = 0; round < 3; round += 1) await rebuild(source(), [metrics]);
    reading.abort();
    await Promise.all([reader, writer]);
    await running.reached();
    await running.stop();
    expect(counts).toEqual([]);
    expect(await countedThreats()).toBeGreaterThan(floor);
    expect(await verify(source(), [metrics])).toEqual([]);
  });

  it('rejects a second rebuild of the same projection', async () => {
    await append(threats(500));
    await project([metrics]);
    const results = await Promise.allSettled([rebuild(source(), [metrics]), rebuild(source(), [metrics])]);
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(await verify(source(), [metrics])).toEqual([]);
  });

  it('ends at the checkpoint of a projector that is behind or stopped, and the projector applies the rest', async () => {
    await append(threats(5));
    await project([metrics]);
    await append(threats(5, 5));
    await rebuild(source(), [metrics]);
    expect(await countedThreats()).toBe(5);
    await project([metrics]);
    expect(await countedThreats()).toBe(10);
  });

  it('rejects a second verification of the same projection without affecting the first', async () => {
    await append(threats(500));
    await project([metrics, brandsAndFlags]);
    const results = await Promise.allSettled([
      verify(source(), [metrics]),
      verify(source(), [brandsAndFlags, metrics]),
    ]);
    const refused = 'A verification of "metrics" is already running; wait until it has finished';
    expect(results).toEqual(
      expect.arrayContaining([
        { status: 'fulfilled', value: [] },
        { status: 'rejected', reason: expect.objectContaining({ message: refused }) },
      ]),
    );
    expect(await verify(source(), [metrics, brandsAndFlags])).toEqual([]);
  });

  it('fails if the connection with the lock is lost, because rows may be lost too', async () => {
    await append(threats(500));
    await project([metrics]);
    const killed: Projection<MetricEvent> = {
      ...metrics,
      prepare: async (events, recorded) => {
        await database.pool.query(
          `select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and database =
            (select oid from pg_database where datname = current_database())`,
        );
        return metrics.prepare(events, recorded);
      },
    };
    await database.pool.query('update read.days set n = n + 1');
    await expect(rebuild(source(), [killed])).rejects.toThrow();
    expect(await countedThreats()).toBeGreaterThan(500);
    await rebuild(source(), [metrics]);
    expect(await countedThreats()).toBe(500);
  });

  it('corrects wrong rows', async () => {
    await append(threats(20));
    await project([metrics]);
    await database.pool.query('update read.days set n = n + 1');
    await rebuild(source(), [metrics]);
    expect(await countedThreats()).toBe(20);
  });

  it('finds every wrong cell on both sides of a verification', async () => {
    await append([...threats(20), threat(1, 'other')]);
    await project([metrics]);
    expect(await verify(source(), [metrics])).toEqual([]);
    await database.pool.query(`update read.days set n = n + 1 where organization = 'other'`);
    await database.pool.query(`delete from read.facts where record = 't-3'`);
    const found = await verify(source(), [metrics]);
    expect(found.map(({ table, side }) => [table, side])).toEqual([
      ['facts', 'only in the rebuild'],
      ['days', 'only in the read model'],
      ['days', 'only in the rebuild'],
    ]);
    expect(found[1]!.row).toMatchObject({ organization: 'other', n: 2 });
    expect((await database.pool.query(`select from pg_namespace where nspname like 'read_%'`)).rowCount).toBe(0);
  });

  it('removes its shadow tables after a failed verification', async () => {
    await append([threat(0)]);
    await project([metrics, brandsAndFlags]);
    const readAll = (): Promise<never> => Promise.reject(new Error('The log is away'));
    const unavailableLog = Object.assign(Object.create(log) as EventLog, { readAll });
    await expect(verify({ ...source(), log: unavailableLog }, [metrics, brandsAndFlags])).rejects.toThrow(
      'The log is away',
    );
    expect((await database.pool.query(`select from pg_namespace where nspname like 'read_%'`)).rowCount).toBe(0);
  });

  it('verifies each projection at its own checkpoint', async () => {
    const brand = (n: number): Sent =>
      sent('BrandRegistered', { organization: 'acme', brand: `b-${n}`, updatedAt: '2026-01-01T00:00:00Z' });
    await append([threat(0), brand(0)]);
    await project([metrics, brandsAndFlags]);
    await append([threat(1), brand(1)]);
    await project([metrics]);
    expect(await verify(source(), [metrics, brandsAndFlags])).toEqual([]);
    await database.pool.query(`delete from read.checkpoints where projection = 'brands-and-flags'`);
    await database.pool.query('truncate read.brands');
    expect(await verify(source(), [metrics, brandsAndFlags])).toEqual([]);
    await database.pool.query(`update read.days set n = n + 1`);
    expect((await verify(source(), [brandsAndFlags, metrics])).length).toBeGreaterThan(0);
  });

  it('verifies one snapshot while events arrive', async () => {
    await append(threats(1_000));
    const running = start([metrics]);
    await running.reached();
    const stop = new AbortController();
    const writer = (async () => {
      for (let n = 0; !stop.signal.aborted; n += 1) {
        await append(threats(5, 10_000 + 5 * n));
        await running.reached();
      }
    })();
    for (let round = 0; round < 3; round += 1) expect(await verify(source(), [metrics])).toEqual([]);
    stop.abort();
    await writer;
    await running.stop();
  });
});
