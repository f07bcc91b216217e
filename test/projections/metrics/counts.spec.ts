import { beforeEach, describe, expect, it } from '@jest/globals';
import { metrics } from '../../../projections/metrics/projection.js';
import { takedowns } from '../../../projections/takedowns.js';
import type { Projection } from '../../../projections/engine/projection.js';
import { verify } from '../../../projections/engine/verify.js';
import { dayOf, EARLIEST, LATEST } from '../../../src/events/instant.js';
import type { EventLog } from '../../../src/event-log/event-log.js';
import { Invalid } from '../../../src/errors.js';
import { CompareMetrics, CompareMetricsHandler } from '../../../src/metrics/compare-metrics.js';
import { GetMetrics, GetMetricsHandler } from '../../../src/metrics/get-metrics.js';
import { TimeSlices } from '../../../src/flow/turns.js';
import { GetTakedownStatistics, GetTakedownStatisticsHandler } from '../../../src/metrics/get-takedown-statistics.js';
import { GetTimeline, GetTimelineHandler } from '../../../src/metrics/get-timeline.js';
import { MetricsQueries } from '../../../src/metrics/metrics-queries.js';
import type { Range } from '../../../src/http/parameters.js';
import { INTERVALS, MAX_POINTS } from '../../../src/metrics/timeline-sql.js';
import type { Timeline } from '../../../src/metrics/metrics.dto.js';
import { usesEventStore } from '../../support/logs.js';
import { newDatabase, newLogs } from '../../support/open-for-tests.js';
import { projectToHead } from '../../support/projecting.js';
import { Random } from '../../support/random.js';
import { eventId, recordedInOrder, type Sent } from '../../support/upstream.js';
import { BRANDS, delivered, edgeInstant, history, ORGANIZATIONS } from '../../support/histories.js';
import { naiveCount, naiveEventId, newestStates, type Query } from '../../support/naive-count.js';
import { naiveTakedowns } from '../naive-takedowns.js';
import { naiveStart, naiveTimeline } from '../naive-timeline.js';
import { seeds } from '../../support/full-size.js';

const PROJECTIONS = [metrics, takedowns];
const TABLES = PROJECTIONS.flatMap(({ tables }): readonly string[] => tables);

type Asked = Query & Range;

describe('The projections of the metrics', () => {
  const database = newDatabase();
  const logs = newLogs();

  beforeEach(async () => {
    await database.pool.query(
      `
      insert into read.feature_flags select o, 'brands-metrics', true, 0, gen_random_uuid() from unnest($1::text[]) o`,
      [ORGANIZATIONS],
    );
    await database.pool.query(
      `
      insert into read.brands select o, b, b, true, 0, gen_random_uuid() from unnest($1::text[]) o, unnest($2::text[]) b`,
      [ORGANIZATIONS, BRANDS],
    );
  });

  /** Runs the projections up to the current end of the log. */
  const project = async (log: EventLog, projections: readonly Projection[] = PROJECTIONS): Promise<void> =>
    expect(await projectToHead(log, database.pool, projections)).toEqual([]);

  const ask = async ({ organization, brand, from, to }: Query) => {
    const handler = new GetMetricsHandler(new MetricsQueries(database.pool));
    return (await handler.execute(new GetMetrics({ organization, range: { from, to }, brand }))).result;
  };

  /** Undefined if the timeline would have too many points. */
  const askTimeline = async (
    { organization, brand, ...range }: Asked,
    interval: Timeline['interval'],
  ): Promise<Timeline | undefined> => {
    const handler = new GetTimelineHandler(new MetricsQueries(database.pool), new TimeSlices());
    try {
      return (await handler.execute(new GetTimeline({ organization, range, brand, interval }))).result;
    } catch (error) {
      if (error instanceof Invalid) return undefined;
      throw error;
    }
  };

  const compare = async ({ organization, brand, from, to }: Query, earlier: 'previous' | 'year') => {
    const handler = new CompareMetricsHandler(new MetricsQueries(database.pool));
    return (await handler.execute(new CompareMetrics({ organization, range: { from, to }, brand, earlier }))).result;
  };

  const askTakedowns = async ({ organization, brand, from, to }: Query) => {
    const handler = new GetTakedownStatisticsHandler(new MetricsQueries(database.pool));
    return (await handler.execute(new GetTakedownStatistics({ organization, range: { from, to }, brand }))).result;
  };

  const randomQuery = (random: Random): Asked => {
    const [from, to] = [edgeInstant(random), edgeInstant(random)].sort((a, b) => a - b) as [number, number];
    const range = random.pick<Range>([
      ...Array.from({ length: 16 }, () => ({ from, to })),
      { from, to: LATEST },
      { from: EARLIEST, to },
      { from: EARLIEST, to, open: 'start' },
      { from: EARLIEST, to: LATEST, open: 'both' },
    ]);
    return {
      organization: random.pick(ORGANIZATIONS),
      brand: random.chance(0.5) ? random.pick(BRANDS) : undefined,
      ...range,
    };
  };

  const sum = <Field extends string>(points: readonly Record<Field, number>[], field: Field): number =>
    points.reduce((total, point) => total + point[field], 0);
  const SUMMED = ['reports', 'newThreats', 'threatsWatchlisted', 'takedownsFiled', 'takedownsCompleted'] as const;
  const sumsOf = ({ points }: Timeline) => ({
    totals: SUMMED.map((field) => sum(points, field)),
    byType: points.reduce<Record<string, number>>((types, { byType }) => {
      for (const [type, n] of Object.entries(byType)) types[type] = (types[type] ?? 0) + n;
      return types;
    }, {}),
  });
  const sumsOfMetrics = ({ metrics: totals, blockedByType }: Awaited<ReturnType<typeof ask>>) => ({
    totals: SUMMED.map((field) => totals[field]),
    byType: Object.fromEntries(blockedByType.map(({ type, count }) => [type, count])),
  });

  type Name = keyof ReturnType<typeof naiveCount>['metrics'];
  const eachOf = <Value>(totals: object, value: (name: Name) => Value): object =>
    Object.fromEntries(Object.keys(totals).map((name) => [name, value(name as Name)]));

  /** Computed on the text of the date: the same day one year earlier, or 28 February if that day does not exist. */
  const naiveEarlier = ({ from, to }: Query, earlier: 'previous' | 'year'): { from: number; to: number } => {
    if (earlier === 'previous') return { from: from - (to - from) - 1, to: from - 1 };
    const yearBefore = (instant: number): number => {
      const [, year, rest] = /^(\d{4})(.*)$/.exec(new Date(instant).toISOString())!;
      return Date.parse(String(Number(year) - 1).padStart(4, '0') + rest!.replace('-02-29', '-02-28'));
    };
    const [first, last] = [from, to].map((instant) => new Date(instant).toISOString()) as [string, string];
    // A range that ends on 29 February and began on an earlier day ends at the end of 28 February one year earlier.
    const endsOnWholeLeapDay = last.slice(4, 10) === '-02-29' && first.slice(0, 10) !== last.slice(0, 10);
    return {
      from: yearBefore(from),
      to: yearBefore(endsOnWholeLeapDay ? Date.parse(`${last.slice(0, 10)}T23:59:59.999Z`) : to),
    };
  };

  const SEEDS = seeds(2, usesEventStore ? 2 : 4);

  it.each(SEEDS)(
    'count the same as a naive recount if events arrive twice, late or out of order (seed %d)',
    async (seed) => {
      const random = new Random(seed);
      const events = history(random, 600);
      const log = await logs.create(recordedInOrder(delivered(random, events)), () =>
        random.int(random.pick([2, 30, 400])),
      );
      await project(log);
      const states = newestStates(events);
      let nonZero = 0;
      for (let round = 0; round < 120; round += 1) {
        const query = randomQuery(random);
        const counted = await ask(query);
        expect({ query, ...counted }).toEqual({ query, ...naiveCount(states, query) });
        if (counted.metrics.newThreats > 0) nonZero += 1;
      }
      expect(nonZero).toBeGreaterThan(30);

      let timelines = 0;
      for (let round = 0; round < 15; round += 1) {
        const query = randomQuery(random);
        const interval = random.pick(INTERVALS);
        const answer = await askTimeline(query, interval);
        // A range without an end ends at the time of the request, which only the response states.
        const to = query.open === 'both' && answer ? Date.parse(answer.window.endDate) : query.to;
        const from = query.open === undefined ? query.from : naiveStart(states, query, interval);
        const points = naiveTimeline(states, { ...query, from, to }, interval, MAX_POINTS);
        const window = { startDate: new Date(from).toISOString(), endDate: new Date(to).toISOString() };
        expect({ query, ...answer }).toEqual({ query, ...(points && { window, interval, points }) });
        if (answer && sum(answer.points, 'newThreats') > 0) timelines += 1;
        if (answer) expect(sumsOf(answer)).toEqual(sumsOfMetrics(await ask(query)));
      }
      expect(timelines).toBeGreaterThan(3);

      for (let round = 0; round < 15; round += 1) {
        const query = { ...randomQuery(random), from: edgeInstant(random) };
        const earlier = random.pick(['previous', 'year'] as const);
        const before = { ...query, ...naiveEarlier(query, earlier) };
        if (query.to < query.from || query.to === LATEST || before.from < EARLIEST) continue;
        const [countsNow, countsEarlier] = [naiveCount(states, query).metrics, naiveCount(states, before).metrics];
        const iso = (instant: number): string => new Date(instant).toISOString();
        expect(await compare(query, earlier)).toEqual({
          with: earlier,
          current: { window: { startDate: iso(query.from), endDate: iso(query.to) }, metrics: countsNow },
          earlier: { window: { startDate: iso(before.from), endDate: iso(before.to) }, metrics: countsEarlier },
          difference: eachOf(countsNow, (name) => countsNow[name] - countsEarlier[name]),
          ratio: eachOf(countsNow, (name) => (countsEarlier[name] > 0 ? countsNow[name] / countsEarlier[name] : null)),
        });
      }

      let completed = 0;
      for (let round = 0; round < 30; round += 1) {
        const query = randomQuery(random);
        const statistics = await askTakedowns(query);
        expect({ query, ...statistics }).toEqual({ query, ...naiveTakedowns(states, query) });
        const { takedownsFiled, takedownsCompleted } = (await ask(query)).metrics;
        expect([statistics.filed, statistics.completed]).toEqual([takedownsFiled, takedownsCompleted]);
        if (statistics.timeToTakedown.count > 1) completed += 1;
      }
      expect(completed).toBeGreaterThan(3);
      expect(await verify({ pool: database.pool, log }, PROJECTIONS)).toEqual([]);
    },
  );

  it('are compared with a recount that computes the same event ids, and so orders events of the same time equally', () => {
    const events = history(new Random(12), 2_000);
    expect(events.map(naiveEventId)).toEqual(events.map(eventId));
  });

  it('count to the millisecond on both sides of every midnight', async () => {
    const random = new Random(11);
    const events = history(random, 400);
    await project(await logs.create(recordedInOrder(events)));
    const states = newestStates(events);
    const days = new Set(
      events.flatMap(({ data }) => (data['createdAt'] ? [dayOf(Date.parse(data['createdAt'] as string))] : [])),
    );
    for (const day of days) {
      const midnight = day * 86_400_000;
      for (const [from, to] of [
        [-1, -1],
        [0, 0],
        [-1, 0],
        [0, 86_399_999],
        [1, 86_399_998],
        [-86_400_000, 86_399_999],
      ] as const) {
        const query = { organization: 'acme', brand: undefined, from: midnight + from, to: midnight + to };
        expect({ query, ...(await ask(query)) }).toEqual({ query, ...naiveCount(states, query) });
      }
    }
  });

  it('begin a timeline on the first day of year 1 if that is requested', async () => {
    await project(await logs.create(recordedInOrder(history(new Random(15), 50))));
    const query = { organization: 'acme', brand: undefined, from: EARLIEST, to: Date.parse('0002-02-01T00:00:00Z') };
    for (const [interval, points] of [
      ['month', 14],
      ['quarter', 5],
      ['year', 2],
    ] as const) {
      const timeline = (await askTimeline(query, interval))!;
      expect(timeline.window.startDate).toBe('0001-01-01T00:00:00.000Z');
      expect([timeline.points.length, timeline.points[0]!.start]).toEqual([points, '0001-01-01T00:00:00.000Z']);
    }
  });

  it('end with the same rows regardless of batches and repeated events', async () => {
    const random = new Random(12);
    const events: readonly Sent[] = delivered(random, history(random, 300));
    const recorded = recordedInOrder(events);
    const rows = async (): Promise<unknown[]> => {
      const all = [];
      for (const table of TABLES)
        all.push((await database.pool.query(`select * from read.${table} t order by t::text`)).rows);
      return all;
    };
    await project(await logs.create(recorded));
    const atOnce = await rows();
    await database.pool.query(`truncate ${[...TABLES, 'checkpoints'].map((table) => `read.${table}`).join()}`);
    await project(await logs.create(recorded, () => 1));
    expect(await rows()).toEqual(atOnce);
    // The checkpoint was restored from an older backup, so all events are applied again.
    await database.pool.query('truncate read.checkpoints');
    await project(await logs.create(recorded, () => 7));
    expect(await rows()).toEqual(atOnce);
  });

  it('include the whole log if a projection is new in this version', async () => {
    const random = new Random(14);
    const log = await logs.create(recordedInOrder(delivered(random, history(random, 300))), () => 50);
    await project(log, [metrics]);
    const before = await database.pool.query('select * from read.records r order by r::text');
    await project(log);
    const after = await database.pool.query('select * from read.records r order by r::text');
    expect(after.rows).toEqual(before.rows);
    expect((await database.pool.query('select from read.takedowns')).rowCount).toBeGreaterThan(10);
    expect(await verify({ pool: database.pool, log }, PROJECTIONS)).toEqual([]);
  });

  it('have a verification that finds wrong, missing and additional rows', async () => {
    const log = await logs.create(recordedInOrder(history(new Random(13), 200)));
    await project(log);
    await database.pool.query('update read.days set n = n + 1 where ctid = (select min(ctid) from read.days)');
    await database.pool.query('delete from read.facts where ctid = (select min(ctid) from read.facts)');
    await database.pool.query('delete from read.takedowns where ctid = (select min(ctid) from read.takedowns)');
    const differences = await verify({ pool: database.pool, log }, PROJECTIONS);
    expect(differences.map(({ table, side }) => `${table} ${side}`)).toEqual([
      'facts only in the rebuild',
      'days only in the read model',
      'days only in the rebuild',
      'takedowns only in the rebuild',
    ]);
  });
});
