import { beforeEach, describe, expect, it } from '@jest/globals';
import { lagOf, spanOf } from '../../../projections/metrics/history.js';
import { metrics } from '../../../projections/metrics/projection.js';
import { transact } from '../../../projections/engine/projection.js';
import { decodeEvent } from '../../../projections/engine/parking.js';
import { rebuild } from '../../../projections/engine/rebuild.js';
import { verify } from '../../../projections/engine/verify.js';
import type { RecordedEvent } from '../../../src/event-log/event-log.js';
import { EARLIEST, LATEST } from '../../../src/events/instant.js';
import { GetMetrics, GetMetricsHandler } from '../../../src/metrics/get-metrics.js';
import {
  GetRestatement,
  GetRestatementHandler,
  ListRestatedRecords,
  ListRestatedRecordsHandler,
} from '../../../src/metrics/restatement/get-restatement.js';
import { MetricsQueries } from '../../../src/metrics/metrics-queries.js';
import type { RestatedRecord } from '../../../src/metrics/restatement/restatement.dto.js';
import { type Moment, READ_MOMENT } from '../../../src/metrics/past-sql.js';
import { seeds } from '../../support/full-size.js';
import { usesEventStore } from '../../support/logs.js';
import { newDatabase, newLogs } from '../../support/open-for-tests.js';
import { projectToHead } from '../../support/projecting.js';
import { Random } from '../../support/random.js';
import { recordedInOrder, type Sent } from '../../support/upstream.js';
import { BRANDS, delivered, edgeInstant, history, ORGANIZATIONS } from '../../support/histories.js';
import { naiveCount, naiveLast, newestStates, type Query } from '../../support/naive-count.js';

const MS_PER_DAY = 86_400_000;

/** The log's times ascend, except when the clock is set back; several events share a millisecond. */
const recordedBetween = (random: Random, events: readonly Sent[]): RecordedEvent[] => {
  let clock = Date.parse('2023-12-30T23:59:59.000Z');
  return recordedInOrder(events).map((event) => {
    clock += random.pick([0, 0, 1, random.int(1_000), random.int(2 * MS_PER_DAY), random.int(6 * MS_PER_DAY)]);
    if (random.chance(0.03)) clock -= random.int(20 * MS_PER_DAY);
    return { ...event, recordedAt: clock };
  });
};

describe('The classes of facts', () => {
  it.each([
    [0, 0],
    [1, 1],
    [2, 2],
    [3, 2],
    [4, 3],
    [7, 3],
    [8, 4],
    [-1, -1],
    [-3, -2],
    [-4, -3],
  ])('are of the delay in days: %d days in class %d', (days, lag) => {
    const noon = Date.parse('2026-03-01T12:00:00.000Z');
    expect(lagOf(['acme', '', noon - days * MS_PER_DAY, 1, ''], noon)).toBe(lag);
  });

  it.each([
    [1, 1],
    [15, 1],
    [16, 2],
    [255, 2],
    [256, 3],
  ])('are of the span in positions: %d positions in class %d', (positions, span) => {
    expect(spanOf({ since: 7, until: 7 + positions })).toBe(span);
  });
});

describe('The metrics of the past', () => {
  const database = newDatabase();
  const logs = newLogs();

  beforeEach(async () => {
    await database.pool.query(
      `insert into read.feature_flags select o, 'brands-metrics', true, 0, gen_random_uuid() from unnest($1::text[]) o`,
      [ORGANIZATIONS],
    );
    await database.pool.query(
      `insert into read.brands select o, b, b, true, 0, gen_random_uuid() from unnest($1::text[]) o, unnest($2::text[]) b`,
      [ORGANIZATIONS, BRANDS],
    );
  });

  const queries = (): MetricsQueries => new MetricsQueries(database.pool);

  const ask = async ({ organization, brand, from, to }: Query, known: Moment) => {
    const query = new GetMetrics({ organization, range: { from, to }, brand, known });
    return (await new GetMetricsHandler(queries()).execute(query)).result;
  };

  const restate = async ({ organization, brand, from, to }: Query, then: Moment, now: Moment) => {
    const query = new GetRestatement({ organization, range: { from, to }, from: then, known: now, brand });
    return (await new GetRestatementHandler(queries()).execute(query)).result;
  };

  const listRecords = async ({ organization, brand, from, to }: Query, then: Moment, now: Moment) => {
    const items: RestatedRecord[] = [];
    const change = { range: { from, to }, from: then, known: now };
    for (let before: number | undefined; ;) {
      const query = new ListRestatedRecords({ organization, ...change, brand, limit: 3, maxBytes: 1_000, before });
      const { result } = await new ListRestatedRecordsHandler(queries()).execute(query);
      items.push(...result.records());
      if (result.next === undefined) return items;
      before = result.next;
    }
  };

  const randomQuery = (random: Random): Query => {
    const [from, to] = [edgeInstant(random), edgeInstant(random)].sort((a, b) => a - b) as [number, number];
    return {
      organization: random.pick(ORGANIZATIONS),
      brand: random.chance(0.5) ? random.pick(BRANDS) : undefined,
      ...random.pick([
        { from, to },
        { from, to },
        { from, to },
        { from, to: LATEST },
        { from: EARLIEST, to },
      ]),
    };
  };

  /** The latest time up to each position. */
  const latestOf = (recorded: readonly RecordedEvent[]): number[] => {
    let latest = -Infinity;
    return recorded.map(({ recordedAt }) => (latest = Math.max(latest, recordedAt)));
  };

  /** A moment by its position or by an instant, as a naive reader of the log finds it. */
  const randomMoment = async (random: Random, recorded: readonly RecordedEvent[]): Promise<Moment> => {
    const latest = latestOf(recorded);
    const index = random.int(recorded.length);
    if (random.chance(0.5)) return { position: index, instant: latest[index]! };
    const instant = latest[index]! + random.pick([-1, 0, 1, random.int(MS_PER_DAY), -random.int(MS_PER_DAY)]);
    const next = recorded.findIndex(({ recordedAt }) => recordedAt > instant);
    const [row] = await READ_MOMENT.run(database.pool, { instant, position: index });
    expect([row!.next, row!.instant]).toEqual([next === -1 ? null : next, latest[index]]);
    return { position: next === -1 ? recorded.length - 1 : next - 1, instant };
  };

  const total = (metricsThen: Record<string, number>): number =>
    Object.values(metricsThen).reduce((sum, count) => sum + count, 0);

  it.each(seeds(2, usesEventStore ? 2 : 4))(
    'are those of a naive recount of what was stored then (seed %d)',
    async (seed) => {
      const random = new Random(seed);
      const events = delivered(random, history(random, 400));
      const recorded = recordedBetween(random, events);
      const log = await logs.create(recorded, () => random.int(random.pick([2, 30, 400])));
      const source = { pool: database.pool, log };
      expect(await projectToHead(log, database.pool, [metrics])).toEqual([]);
      const statesAt = ({ position }: Moment) => newestStates(events.slice(0, position + 1));
      const check = async (rounds: number): Promise<void> => {
        let [counted, changed, late, listed] = [0, 0, 0, 0];
        for (let round = 0; round < rounds; round += 1) {
          const query = randomQuery(random);
          const moments = [await randomMoment(random, recorded), await randomMoment(random, recorded)];
          const [then, now] = moments.sort((a, b) => a.position - b.position) as [Moment, Moment];
          const [before, after] = [naiveCount(statesAt(then), query), naiveCount(statesAt(now), query)];
          expect({ query, then, ...(await ask(query, then)) }).toEqual({ query, then, ...before });
          const restatement = await restate(query, then, now);
          expect({ query, then, now, result: [restatement.then, restatement.now] }).toEqual({
            query,
            then,
            now,
            result: [before, after],
          });
          for (const [name, { late: added, corrected }] of Object.entries(restatement.changes.metrics)) {
            const difference = (after.metrics as any)[name] - (before.metrics as any)[name];
            expect(added.added - added.removed + corrected.added - corrected.removed).toBe(difference);
            expect((restatement.difference.metrics as any)[name]).toBe(difference);
            late += added.added;
          }
          const records = await listRecords(query, then, now);
          const naive = naiveChanges(events, recorded, query, then, now);
          expect({ query, then, now, records: records.map((record) => ({ ...record, cause: undefined })) }).toEqual({
            query,
            then,
            now,
            records: naive,
          });
          counted += total(before.metrics);
          changed += total(restatement.difference.metrics as any) === 0 ? 0 : 1;
          listed += records.length;
        }
        expect(Math.min(counted, changed, late, listed)).toBeGreaterThan(rounds / 6);
      };
      await check(60);
      expect(await verify(source, [metrics])).toEqual([]);
      await rebuild(source, [metrics]);
      await check(20);
    },
  );

  /** The records whose facts in the range differ, computed from the states of the events themselves. */
  const naiveChanges = (
    events: readonly Sent[],
    recorded: readonly RecordedEvent[],
    query: Query,
    then: Moment,
    now: Moment,
  ) => {
    const latest = latestOf(recorded);
    const [before, after] = [then, now].map(({ position }) => naiveLast(events.slice(0, position + 1), query)) as [
      ReturnType<typeof naiveLast>,
      ReturnType<typeof naiveLast>,
    ];
    return [...after]
      .sort(([, a], [, b]) => b.last - a.last)
      .flatMap(([, { counted, ...record }]) => {
        const known = before.get(`${record.kind} ${record.id}`);
        if (JSON.stringify(known?.counted ?? []) === JSON.stringify(counted)) return [];
        const { first, last } = record;
        return [
          {
            kind: record.kind,
            id: record.id,
            then: known?.counted ?? [],
            now: counted,
            late: first > then.position && latest[first]! > query.to,
            changedAt: new Date(latest[last]!).toISOString(),
          },
        ];
      });
  };

  it('do not depend on the order in which parked events are retried', async () => {
    const random = new Random(21);
    const recorded = recordedBetween(random, delivered(random, history(random, 250)));
    const log = await logs.create(recorded);
    expect(await projectToHead(log, database.pool, [metrics])).toEqual([]);
    const tables = metrics.tables.map((table) => `read.${table}`);
    const rows = async (): Promise<unknown[]> =>
      Promise.all(
        tables.map(async (table) => (await database.pool.query(`select * from ${table} t order by t::text`)).rows),
      );
    const inOrder = await rows();
    await database.pool.query(`truncate ${tables.join()}`);
    const apply = async (events: readonly RecordedEvent[], places: readonly RecordedEvent[]): Promise<void> => {
      const projected = events.flatMap((event) => {
        const decoded = decodeEvent(event);
        return decoded.kind === 'read' ? [decoded.projected] : [];
      });
      await transact(database.pool, 'read', async (transaction) =>
        (await metrics.prepare(projected as never, places))(transaction),
      );
    };
    // All events were parked; the log was read nevertheless.
    await apply([], recorded);
    for (const event of random.shuffled(recorded, recorded.length)) await apply([event], [event]);
    expect(await rows()).toEqual(inOrder);
  });
});
