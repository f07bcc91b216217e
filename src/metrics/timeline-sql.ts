import { type Connection, json, nullable, type RowOf, statement } from '../postgres/statement.js';
import { dayInSql, dayOf } from '../events/instant.js';
import {
  COUNTED_RANGE,
  countValues,
  MOMENT,
  MOMENT_COLUMNS,
  type FactCounts,
  factsBetween,
  OTHER_MEASURES,
  OWNED,
  TOO_MANY,
} from './count-sql.js';
import type { Range } from '../http/parameters.js';
import { limit } from '../limits.js';

/** Calendar intervals in UTC. Weeks begin on Monday (ISO 8601), quarters in January, April, July and October. */
export const INTERVALS = ['day', 'week', 'month', 'quarter', 'year'] as const;
export type Interval = (typeof INTERVALS)[number];

/** The length of each interval as a PostgreSQL interval. */
const STEPS: Readonly<Record<Interval, string>> = {
  day: '1 day',
  week: '7 days',
  month: '1 month',
  quarter: '3 months',
  year: '1 year',
};

/** Maximum number of points: ten years of days. */
export const MAX_POINTS = limit('timeline', 3_660, 'points', 'request', '400');
/** Maximum number of counts by type: 30 types on each day of ten years. */
export const MAX_CELLS = 110_000;

const OF_RANGE = `${OWNED} and at between :from and :to`;

/**
 * Returns SQL that sums day counts by point, numbered from 1. For the interval `day`, each day is a point. For longer
 * intervals, each point is summed from its range of the index; grouping all rows by point takes 1.5 times as long.
 */
const atPoints = (isByDay: boolean, key: string, table: string, condition = ''): string => {
  const rows = `from ${table} where ${OWNED} ${condition} and day between`;
  if (isByDay)
    return `select ${key}, day - (select starts[1] from starts) + 1 as point, n ${rows} :firstDay and :lastDay`;
  const [first, last] = ['greatest(:firstDay, start)', 'least(:lastDay, coalesce(starts[point + 1] - 1, :lastDay))'];
  return `
          select ${key}, point, n
          from starts, unnest(starts) with ordinality place (start, point),
            lateral (select ${key}, sum(n)::bigint as n ${rows} ${first} and ${last} group by ${key}) sums
          where cardinality(starts) <= ${MAX_POINTS}`;
};

/** The arrays are sent as text and parsed one by one, so that no single parse blocks the event loop for long. */
const POINT_ARRAYS = 'array_agg(point)::text as points, array_agg(n)::text as counts';

/** Counts by point, numbered from 1. `points` and `counts` are PostgreSQL arrays as text. */
type AtPoints<Key> = readonly (readonly [key: Key, points: string, counts: string])[];

const PARAMETERS = {
  ...COUNTED_RANGE,
  interval: 'text',
  /** The length of the interval. */
  step: 'interval',
  /** Null if the range has no start. */
  startDay: nullable('integer'),
  /** Null if the range has no end. */
  endDay: nullable('integer'),
  today: 'integer',
} as const;

const COLUMNS = {
  ...MOMENT_COLUMNS,
  /** The time of the last fact in the range, in ms. */
  lastAt: nullable('bigint'),
  /** The day on which each interval begins. */
  starts: nullable('integer[]'),
  /** Counts of whole days, without threats. */
  measures: nullable(json<AtPoints<number>>()),
  /** Threats on whole days. */
  types: nullable(json<AtPoints<string> | typeof TOO_MANY>()),
  firstFacts: nullable(json<FactCounts | typeof TOO_MANY>()),
  lastFacts: nullable(json<FactCounts | typeof TOO_MANY>()),
};

const timeline = (name: string, isByDay: boolean) =>
  statement(
    name,
    PARAMETERS,
    COLUMNS,
    `
    with known as materialized (
      select
        (select at from read.facts where ${OF_RANGE} order by at limit 1) as first_at,
        (select at from read.facts where ${OF_RANGE} order by at desc limit 1) as last_at
    ), ends as materialized (
      select coalesce(:startDay, ${dayInSql('first_at')}, last_day) as first_day, last_day
      from (
        select first_at, coalesce(:endDay, greatest(:today, ${dayInSql('last_at')})) as last_day from known
      ) last
    ), starts as materialized (
      select array_agg(start order by start) as starts from (
        select start::date - date '1970-01-01' as start
        from ends, generate_series(
          date_trunc(:interval, (date '1970-01-01' + first_day)::timestamp),
          (date '1970-01-01' + last_day)::timestamp,
          :step
        ) start
        limit ${MAX_POINTS + 1}
      ) intervals
    )
    select ${MOMENT},
      (select last_at from known) as "lastAt",
      (select starts from starts) as starts,
      (select json_agg(json_build_array(measure, points, counts)) from (
        select measure, ${POINT_ARRAYS}
        from (${atPoints(isByDay, 'measure', 'read.days', `and measure in (${OTHER_MEASURES.join(', ')})`)}) at_points
        group by measure
      ) measures) as measures,
      (select case
          when sum(cells) > ${MAX_CELLS} then '"${TOO_MANY}"' else json_agg(json_build_array(type, points, counts))
        end
      from (
        select type, count(*) as cells, ${POINT_ARRAYS}
        from (${atPoints(isByDay, 'type', 'read.type_days')} limit ${MAX_CELLS + 1}) at_points
        group by type
      ) types) as types,
      ${factsBetween(':from', ':beforeWholeDaysTo', MAX_CELLS)} as "firstFacts",
      ${factsBetween(':afterWholeDaysFrom', ':to', MAX_CELLS)} as "lastFacts"`,
  );

/**
 * Counts a range by interval in one statement, so that all points are from one snapshot. Whole days are read from
 * `days` and `type_days`. Partial days at the ends, which belong to the first and last point, are read from `facts`. A
 * range without a start begins with the interval of the first fact. A range without an end lasts until now, or until
 * the last fact if the last fact is later. If there are more than `MAX_CELLS` counts, the statement returns `TOO_MANY`
 * instead.
 */
export const BY_INTERVAL = timeline('metrics-timeline', false);
export const BY_DAY = timeline('metrics-timeline-by-day', true);

/** The single row of the result. Columns without any count are null. */
export type CountedTimeline = RowOf<typeof BY_DAY>;

/** @param now the current time in ms */
export const countTimeline = (
  connection: Connection,
  organization: string,
  brand: string,
  range: Range,
  interval: Interval,
  now: number,
): Promise<CountedTimeline[]> =>
  (interval === 'day' ? BY_DAY : BY_INTERVAL).run(connection, {
    ...countValues(organization, brand, range),
    interval,
    step: STEPS[interval],
    startDay: range.open === undefined ? dayOf(range.from) : null,
    endDay: range.open === 'both' ? null : dayOf(range.to),
    today: dayOf(now),
  });
