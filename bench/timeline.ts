import { MS_PER_DAY } from '../src/events/instant.js';
import { TimeSlices } from '../src/flow/turns.js';
import { GetTimeline, GetTimelineHandler } from '../src/metrics/get-timeline.js';
import { MetricsQueries } from '../src/metrics/metrics-queries.js';
import type { Range } from '../src/http/parameters.js';
import type { Interval } from '../src/metrics/timeline-sql.js';
import type { Timeline } from '../src/metrics/metrics.dto.js';
import { MEASURE } from '../src/events/facts.js';
import type { Database } from './database.js';
import { requireEqual } from './equal.js';
import { LARGEST_ORGANIZATION, PLAIN_FACTS } from './facts.js';
import { type Goal, measure, type Measured, perQuery } from './goal.js';
import { filledDatabase, RANGES } from './metrics-work.js';
import { sequentially } from './paired.js';

const ask = async ({ pool }: Database, range: Range, interval: Interval): Promise<Timeline> => {
  const handler = new GetTimelineHandler(new MetricsQueries(pool), new TimeSlices());
  return (await handler.execute(new GetTimeline({ organization: LARGEST_ORGANIZATION, range, interval }))).result;
};

/** Counts in one pass over the covering index, grouped by day, and groups the days by interval. */
const PLAIN_TIMELINE = {
  name: 'plain-timeline',
  text: `
    with counted as materialized (
      select measure, (at / ${MS_PER_DAY})::int as day, type, count(*) as n from ${PLAIN_FACTS}
      where organization = $1 and brand = $2 and at between $3 and $4 group by 1, 2, 3
    )
    select json_agg(json_build_array(start, measure, type, n)) as counts from (
      select (date_trunc($5, (date '1970-01-01' + day)::timestamp)::date - date '1970-01-01') as start, measure, type,
        sum(n)::bigint as n
      from counted group by 1, 2, 3
    ) points`,
};

type PlainCounts = readonly (readonly [start: number, measure: number, type: string, n: number])[];

const askPlain = async ({ pool }: Database, { from, to }: Range, interval: Interval): Promise<PlainCounts> => {
  const values = [LARGEST_ORGANIZATION, '', from, to, interval];
  return (await pool.query<{ counts: PlainCounts }>({ ...PLAIN_TIMELINE, values })).rows[0]!.counts;
};

const FIELDS = [
  [MEASURE.report, 'reports'],
  [MEASURE.threatWatchlisted, 'threatsWatchlisted'],
  [MEASURE.takedownFiled, 'takedownsFiled'],
  [MEASURE.takedownCompleted, 'takedownsCompleted'],
] as const;

/** Converts counts to sorted text, so that the results of both variants can be compared. */
const lines = (counts: readonly (readonly [start: number, what: string, n: number])[]): string[] =>
  counts.map((count) => count.join(' ')).sort();

const linesOf = ({ points }: Timeline): string[] =>
  lines(
    points.flatMap((point) => {
      const start = Date.parse(point.start);
      const others = FIELDS.map(([, field]) => [start, field, point[field]] as const);
      const threats = Object.entries(point.byType).map(([type, n]) => [start, type, n] as const);
      return [...others, ...threats].filter(([, , n]) => n > 0);
    }),
  );

const plainLines = (counts: PlainCounts, { from }: Range): string[] => {
  const fields = new Map<number, string>(FIELDS);
  return lines(
    counts.map(([start, measured, type, n]) => [Math.max(start * MS_PER_DAY, from), fields.get(measured) ?? type, n]),
  );
};

const ASKED = [
  ['1 year', 'week'],
  ['1 year', 'day'],
  ['all time', 'month'],
  ['all time', 'day'],
] as const;

/** Compares the timeline of the largest organization with a GROUP BY over a covering index. */
export const timeline: Goal = {
  name: 'G3e',
  run: async (bench) => {
    const database = await filledDatabase(bench, bench.sizes.facts);
    const measured: Measured[] = [];
    for (const [name, interval] of ASKED) {
      const range = RANGES[name];
      const groupBy = await askPlain(database, range, interval);
      requireEqual('timeline', plainLines(groupBy, range), linesOf(await ask(database, range, interval)));
      const paired = await measure(bench, `G3e ${name} by ${interval}`, {
        base: sequentially(() => askPlain(database, range, interval)),
        target: sequentially(() => ask(database, range, interval)),
      });
      measured.push({
        what: `timeline of the largest organization, ${name} by ${interval}`,
        against: 'GROUP BY over a covering index',
        measured: paired.ratio,
        unit: '×',
        must: 15,
        aim: 30,
        note: perQuery(paired),
      });
    }
    return measured;
  },
};
