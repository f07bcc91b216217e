import { type Connection, json, nullable, type RowOf, statement } from '../../postgres/statement.js';
import { dayOf, MS_PER_DAY } from '../../events/instant.js';
import {
  COUNTED_RANGE,
  countValues,
  type FactCounts,
  factsBetween,
  OTHER_MEASURES,
  TOO_MANY,
} from '../totals/count-sql.js';
import type { Range } from '../../http/range.js';

/** In UTC. ISO weeks begin on Monday; quarters in January, April, July and October. */
export const INTERVALS = ['day', 'week', 'month', 'quarter', 'year'] as const;
export type Interval = (typeof INTERVALS)[number];

/** Each one's length as a PostgreSQL interval. */
const STEPS: Readonly<Record<Interval, string>> = {
  day: '1 day',
  week: '7 days',
  month: '1 month',
  quarter: '3 months',
  year: '1 year',
};

/** Ten years of days. */
export const MAX_POINTS = 3_660;
/** Counts by type: 30 types on each day of ten years. */
export const MAX_CELLS = 110_000;

const OWNED = 'organization = $1 and brand = $2';
const OF_RANGE = `${OWNED} and at between $5::bigint and $8::bigint`;
const DAY_OF = (at: string): string => `floor(${at} / ${MS_PER_DAY}.0)::int`;

/**
 * Turns rows of day counts into rows of points, numbered from 1. For days these are the same. Longer points are summed
 * one by one, each from its slice of the index: grouping all rows by type and point takes half as long again.
 */
const atPoints = (isByDay: boolean, key: string, table: string, condition = ''): string => {
  const rows = `from ${table} where ${OWNED} ${condition} and day between`;
  if (isByDay) return `select ${key}, day - (select starts[1] from starts) + 1 as point, n ${rows} $3::int and $4::int`;
  const [first, last] = ['greatest($3::int, start)', 'least($4::int, coalesce(starts[point + 1] - 1, $4::int))'];
  return `
          select ${key}, point, n
          from starts, unnest(starts) with ordinality place (start, point),
            lateral (select ${key}, sum(n)::bigint as n ${rows} ${first} and ${last} group by ${key}) sums
          where cardinality(starts) <= ${MAX_POINTS}`;
};

/** Arrays as text: each row is parsed on its own, so that no parse takes long. */
const BY_KEY = 'array_agg(point)::text as points, array_agg(n)::text as counts';

/** Points count from 1; both lists are PostgreSQL arrays as text. */
export type AtPoints<Key> = readonly (readonly [key: Key, points: string, counts: string])[];

const PARAMETERS = {
  ...COUNTED_RANGE,
  interval: 'text',
  step: 'interval',
  /** Null: the window has no start. */
  startDay: nullable('integer'),
  /** Null: the window has no end. */
  endDay: nullable('integer'),
  today: 'integer',
} as const;

const COLUMNS = {
  /** Everything acknowledged before this instant (ms) is counted. */
  asOf: nullable('bigint'),
  position: nullable('bigint'),
  /** The last fact of the window. ms */
  lastAt: nullable('bigint'),
  /** The day on which each interval begins. */
  starts: nullable('integer[]'),
  /** Whole days, without threats. */
  measures: nullable(json<AtPoints<number>>()),
  /** Threats of whole days. */
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
      select coalesce($11::int, ${DAY_OF('first_at')}, last_day) as first_day, last_day
      from (
        select first_at, coalesce($12::int, greatest($13::int, ${DAY_OF('last_at')})) as last_day from known
      ) last
    ), starts as materialized (
      select array_agg(start order by start) as starts from (
        select start::date - date '1970-01-01' as start
        from ends, generate_series(
          date_trunc($9, (date '1970-01-01' + first_day)::timestamp),
          (date '1970-01-01' + last_day)::timestamp,
          $10::interval
        ) start
        limit ${MAX_POINTS + 1}
      ) intervals
    )
    select
      (select as_of from read.checkpoints where projection = 'metrics') as "asOf",
      (select position from read.checkpoints where projection = 'metrics') as position,
      (select last_at from known) as "lastAt",
      (select starts from starts) as starts,
      (select json_agg(json_build_array(measure, points, counts)) from (
        select measure, ${BY_KEY}
        from (${atPoints(isByDay, 'measure', 'read.days', `and measure in (${OTHER_MEASURES.join(', ')})`)}) at_points
        group by measure
      ) measures) as measures,
      (select case
          when sum(cells) > ${MAX_CELLS} then '"${TOO_MANY}"' else json_agg(json_build_array(type, points, counts))
        end
      from (
        select type, count(*) as cells, ${BY_KEY}
        from (${atPoints(isByDay, 'type', 'read.type_days')} limit ${MAX_CELLS + 1}) at_points
        group by type
      ) types) as types,
      ${factsBetween('$5', '$6', MAX_CELLS)} as "firstFacts",
      ${factsBetween('$7', '$8', MAX_CELLS)} as "lastFacts"`,
  );

/**
 * Counts a window by interval in one statement, so that every point is of one snapshot. Whole days come from `days` and
 * `type_days`; partial days at the edges, which belong to the first and last point, from `facts`. A window without a
 * start begins with the interval of the first fact; one without an end lasts until now, or until the last fact if that
 * is later. If there is more than an answer holds, it is neither sent nor parsed.
 *
 * $1 to $8 as in `COUNT`, $9 the interval and $10 its length; the window's days $11 and $12, null without a start or an
 * end, and $13 today.
 */
export const BY_INTERVAL = timeline('metrics-timeline', false);
export const BY_DAY = timeline('metrics-timeline-by-day', true);

/** One row; null: nothing in that part. */
export type CountedTimeline = RowOf<typeof BY_DAY>;

/** @param now ms */
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
