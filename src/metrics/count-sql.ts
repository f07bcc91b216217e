import { dayOf, MS_PER_DAY } from '../events/instant.js';
import { DAYS_PER_BLOCK, MEASURE } from '../read-models/measure.js';
import type { Range } from './range.js';

const OTHER_MEASURES = Object.values(MEASURE).filter((measure) => measure !== MEASURE.threat);

/**
 * Counts a range in one statement, so that every number is of one snapshot. Whole days come from `days`; the types of
 * the threats of whole days from whole blocks and, at both edges, from single days; and the broken days at both edges
 * of the range, whatever is counted, from `facts`. What the parts add up to, `get-metrics.ts` adds up.
 *
 * $1 organization, $2 brand, then pairs of a first and a last: $3 whole days, $5 whole blocks, $7 and $9 the whole
 * days that are in no whole block, $11 and $13 the instants (ms) that are in no whole day.
 */
export const COUNT = {
  name: 'metrics-count',
  text: `
    select
      (select as_of from read.checkpoints where projection = 'metrics') as "asOf",
      (select json_agg(json_build_array(measure, n)) from (
        select measure, sum(n)::bigint as n from read.days
        where organization = $1 and brand = $2 and measure in (${OTHER_MEASURES.join(', ')})
          and day between $3::int and $4::int
        group by measure
      ) totals) as totals,
      days, counts,
      (select json_agg(json_build_array(type, n)) from (
        select type, sum(n)::bigint as n from (
          select type, n from read.type_blocks
          where organization = $1 and brand = $2 and block between $5::int and $6::int
          union all
          select type, n from read.type_days where organization = $1 and brand = $2 and day between $7::int and $8::int
          union all
          select type, n from read.type_days where organization = $1 and brand = $2 and day between $9::int and $10::int
        ) parts group by type
      ) types) as types,
      (select json_agg(json_build_array(measure, type, n)) from (
        select measure, type, count(*) as n from read.facts
        where organization = $1 and brand = $2 and at between $11::bigint and $12::bigint group by measure, type
      ) facts) as "firstFacts",
      (select json_agg(json_build_array(measure, type, n)) from (
        select measure, type, count(*) as n from read.facts
        where organization = $1 and brand = $2 and at between $13::bigint and $14::bigint group by measure, type
      ) facts) as "lastFacts"
    from (
      select json_agg(day) as days, json_agg(n) as counts from (
        select day, n from read.days
        where organization = $1 and brand = $2 and measure = ${MEASURE.threat} and day between $3::int and $4::int
        order by day
      ) threats
    ) by_day`,
};

type FactCounts = readonly (readonly [measure: number, type: string, n: number])[];

/** One row; a part in which there is nothing is null. */
export interface Counted {
  /** Everything answered at the door before this instant (ms) is counted. */
  readonly asOf: number | null;
  /** Whole days, threats apart. */
  readonly totals: readonly (readonly [measure: number, n: number])[] | null;
  /** Whole days with threats, ascending, and how many each has. */
  readonly days: readonly number[] | null;
  readonly counts: readonly number[] | null;
  /** Threats of whole days. */
  readonly types: readonly (readonly [type: string, n: number])[] | null;
  /** What is on the first day, where the range begins within it; or ends within it as well. */
  readonly firstFacts: FactCounts | null;
  /** What is on the last day, where the range ends within it. */
  readonly lastFacts: FactCounts | null;
}

type Span = readonly [first: number, last: number];

/** Cuts a span into its whole units and what is before and after them; what is empty begins after its end. */
const cut = ([first, last]: Span, unit: number): { before: Span; units: Span; after: Span } => {
  const units: Span = [Math.ceil(first / unit), Math.floor((last + 1) / unit) - 1];
  const before: Span = [first, Math.min(last, units[0] * unit - 1)];
  return { before, units, after: [Math.max((units[1] + 1) * unit, before[1] + 1), last] };
};

/** The values of the statement. */
export const countValues = (organization: string, brand: string, { from, to }: Range): unknown[] => {
  const instants = cut([from, to], MS_PER_DAY);
  const days = cut(instants.units, DAYS_PER_BLOCK);
  const spans = [instants.units, days.units, days.before, days.after, instants.before, instants.after];
  return [organization, brand, ...spans.flat()];
};

/** The days that `firstFacts` and `lastFacts` are of. */
export const edgeDays = ({ from, to }: Range): Span => [dayOf(from), dayOf(to)];
