import { dayOf, EARLIEST, LATEST, MS_PER_DAY } from '../events/instant.js';
import { countValues, OTHER_MEASURES } from './count-sql.js';
import type { Range } from './range.js';

/** ISO weeks, which begin on Monday; quarters that begin with January, April, July and October. All UTC. */
export const INTERVALS = ['day', 'week', 'month', 'quarter', 'year'] as const;
export type Interval = (typeof INTERVALS)[number];

/** As PostgreSQL writes how long each is. */
const STEPS: Readonly<Record<Interval, string>> = {
  day: '1 day',
  week: '7 days',
  month: '1 month',
  quarter: '3 months',
  year: '1 year',
};

/** Ten years of days. */
export const MAX_POINTS = 3_660;
/**
 * Counts of a type at a point: 30 types on each of ten years' days. An answer is made in one turn of the event loop,
 * which nobody else's request should have to wait for.
 */
export const MAX_CELLS = 110_000;

/** At which point a day is, from 1. The starts are an array that is made once, and searched by halves. */
const POINT = 'width_bucket(day, (select starts from starts))';

const edgeFacts = (first: string, last: string): string => `
      (select json_agg(json_build_array(measure, type, n)) from (
        select measure, type, count(*) as n from read.facts
        where organization = $1 and brand = $2 and at between ${first}::bigint and ${last}::bigint
        group by measure, type limit ${MAX_CELLS + 1}
      ) facts)`;

/**
 * Counts a window by interval in one statement, so that every point is of one snapshot. Whole days come from `days` and
 * `type_days`; the broken days at the edges, which belong to the first and the last point, from `facts`. A window
 * without a start begins with the interval of the first fact; one without an end lasts until now, or to the last fact
 * where that is later.
 *
 * $1 to $8 as those of `COUNT`, $9 the interval and $10 its length; the window's days $11 and $12, null where it has no
 * start or no end, and $13 today.
 */
export const TIMELINE = {
  name: 'metrics-timeline',
  text: `
    with known as materialized (
      select
        (select at from read.facts where organization = $1 and brand = $2 and at between $5::bigint and $8::bigint
         order by at limit 1) as first_at,
        (select at from read.facts where organization = $1 and brand = $2 and at between $5::bigint and $8::bigint
         order by at desc limit 1) as last_at
    ), ends as materialized (
      select coalesce($11::int, floor(first_at / ${MS_PER_DAY}.0)::int, last_day) as first_day, last_day
      from (
        select first_at, coalesce($12::int, greatest($13::int, floor(last_at / ${MS_PER_DAY}.0)::int)) as last_day
        from known
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
      (select last_at from known) as "lastAt",
      (select starts from starts) as starts,
      (select json_agg(json_build_array(measure, points, counts)) from (
        select measure, json_agg(point) as points, json_agg(n) as counts from (
          select measure, ${POINT} as point, sum(n)::bigint as n from read.days
          where organization = $1 and brand = $2 and measure in (${OTHER_MEASURES.join(', ')})
            and day between $3::int and $4::int
          group by 1, 2
        ) at_points group by measure
      ) measures) as measures,
      (select json_agg(json_build_array(type, points, counts)) from (
        select type, json_agg(point) as points, json_agg(n) as counts from (
          select type, ${POINT} as point, sum(n)::bigint as n from read.type_days
          where organization = $1 and brand = $2 and day between $3::int and $4::int
          group by 1, 2 limit ${MAX_CELLS + 1}
        ) at_points group by type
      ) types) as types,
      ${edgeFacts('$5', '$6')} as "firstFacts",
      ${edgeFacts('$7', '$8')} as "lastFacts"`,
};

/** Points count from 1. */
export type AtPoints<Key> = readonly (readonly [key: Key, points: readonly number[], counts: readonly number[]])[];
type EdgeFacts = readonly (readonly [measure: number, type: string, n: number])[];

/** One row; a part in which there is nothing is null. */
export interface CountedTimeline {
  /** Everything answered at the door before this instant (ms) is counted. */
  readonly asOf: number | null;
  /** The last fact of the window. ms */
  readonly lastAt: number | null;
  /** The day on which each interval begins. */
  readonly starts: readonly number[] | null;
  /** Whole days, threats apart. */
  readonly measures: AtPoints<number> | null;
  /** Threats of whole days. */
  readonly types: AtPoints<string> | null;
  readonly firstFacts: EdgeFacts | null;
  readonly lastFacts: EdgeFacts | null;
}

export const hasStart = ({ from }: Range): boolean => from !== EARLIEST;
/** Only everything has none. */
export const hasEnd = (range: Range): boolean => hasStart(range) || range.to !== LATEST;

/** @param now ms */
export const timelineValues = (
  organization: string,
  brand: string,
  range: Range,
  interval: Interval,
  now: number,
): unknown[] => [
  ...countValues(organization, brand, range),
  interval,
  STEPS[interval],
  hasStart(range) ? dayOf(range.from) : null,
  hasEnd(range) ? dayOf(range.to) : null,
  dayOf(now),
];
