import { json, nullable, type RowOf, statement } from '../postgres/statement.js';
import { MS_PER_DAY } from '../events/instant.js';
import { MEASURE } from '../events/facts.js';
import type { Range } from '../http/parameters.js';
import { limit } from '../limits.js';

export const OTHER_MEASURES = Object.values(MEASURE).filter((measure) => measure !== MEASURE.threat);

/**
 * Maximum number of days in a response (82 years). A response is built in one turn of the event loop, which must not
 * delay other requests for long.
 */
export const MAX_DAYS = limit('metrics in one response', 30_000, 'days', 'request', '422');
/** Maximum number of asset types in a response. */
export const MAX_TYPES = limit('metrics in one response', 10_000, 'asset types', 'request', '422');

export const TOO_MANY = 'too many';
export const TOO_MANY_COUNTS = `A response has at most ${MAX_DAYS} days and ${MAX_TYPES} asset types; request a shorter range`;

/** Returns SQL for rows as JSON. If there are more than `most` rows, it returns `"too many"` instead. */
const bounded = (row: string, most: number): string =>
  `case when count(*) > ${most} then '"${TOO_MANY}"'::json else json_agg(json_build_array(${row})) end`;

/** The condition of the rows of an organization or, with a brand, of the brand. */
export const OWNED = 'organization = :organization and brand = :brand';

/** Returns SQL that counts the facts of a partial day by measure and type, up to `most` rows. */
export const factsBetween = (first: string, last: string, most: number): string => `
      (select ${bounded('measure, type, n', most)} from (
        select measure, type, count(*) as n from read.facts
        where ${OWNED} and at between ${first} and ${last}
        group by measure, type limit ${most + 1}
      ) facts)`;

export type FactCounts = readonly (readonly [measure: number, type: string, n: number])[];

/** The parameters of a range: pairs of a first and a last value, in UTC days since 1970 or in ms. */
export const COUNTED_RANGE = {
  organization: 'text',
  brand: 'text',
  firstDay: 'integer',
  lastDay: 'integer',
  from: 'bigint',
  beforeWholeDaysTo: 'bigint',
  afterWholeDaysFrom: 'bigint',
  to: 'bigint',
} as const;

type Suffixed<Fields, Suffix extends string> = {
  readonly [
    Name in keyof Fields & string as Name extends 'organization' | 'brand' ? never : `${Name}${Suffix}`
  ]: Fields[Name];
};

/**
 * Renames the parameters of a second range in a statement, or their values. The organization and the brand, which are
 * those of the first range, are left out.
 */
export const suffixed = <Fields extends object, Suffix extends string>(
  fields: Fields,
  suffix: Suffix,
): Suffixed<Fields, Suffix> =>
  Object.fromEntries(
    Object.entries(fields)
      .filter(([name]) => name !== 'organization' && name !== 'brand')
      .map(([name, value]) => [name + suffix, value]),
  ) as Suffixed<Fields, Suffix>;

export const COUNTED = {
  /** Counts of whole days, without threats. */
  totals: nullable(json<readonly (readonly [measure: number, n: number])[]>()),
  /** Whole days with threats, ascending. `counts` has the number of threats on each day. */
  days: nullable(json<readonly number[]>()),
  counts: nullable(json<readonly number[]>()),
  /** Threats on whole days, by type. */
  types: nullable(json<readonly (readonly [type: string, n: number])[] | typeof TOO_MANY>()),
  /** Counts of the first day, if the range begins during that day. The range may end on the same day. */
  firstFacts: nullable(json<FactCounts | typeof TOO_MANY>()),
  /** Counts of the last day, if the range ends during that day. */
  lastFacts: nullable(json<FactCounts | typeof TOO_MANY>()),
} as const;

/**
 * Returns SQL for the columns `COUNTED` of a range. At most `MAX_DAYS` + 1 days are read, so that a range with too many
 * days is detected.
 * @param suffix of the names of the parameters (`suffixed`)
 */
export const countedColumns = (suffix = ''): string => {
  const days = `day between :firstDay${suffix} and :lastDay${suffix}`;
  return `
      (select json_agg(json_build_array(measure, n)) from (
        select measure, sum(n)::bigint as n from read.days
        where ${OWNED} and measure in (${OTHER_MEASURES.join(', ')}) and ${days}
        group by measure
      ) totals) as totals,
      by_day.days, by_day.counts,
      (select ${bounded('type, n', MAX_TYPES)} from (
        select type, sum(n)::bigint as n from read.type_days
        where ${OWNED} and ${days}
        group by type limit ${MAX_TYPES + 1}
      ) types) as types,${factsBetween(`:from${suffix}`, `:beforeWholeDaysTo${suffix}`, MAX_TYPES)} as "firstFacts",
      ${factsBetween(`:afterWholeDaysFrom${suffix}`, `:to${suffix}`, MAX_TYPES)} as "lastFacts"
    from (
      select json_agg(day) as days, json_agg(n) as counts from (
        select day, n from read.days
        where ${OWNED} and measure = ${MEASURE.threat} and ${days}
        order by day limit ${MAX_DAYS + 1}
      ) threats
    ) by_day`;
};

/** SQL for the columns `asOf` and `position` of the metrics. */
export const MOMENT = `
      (select as_of from read.checkpoints where projection = 'metrics') as "asOf",
      (select position from read.checkpoints where projection = 'metrics') as position`;

export const MOMENT_COLUMNS = {
  /** Everything acknowledged before this instant (ms) is counted. */
  asOf: nullable('bigint'),
  position: nullable('bigint'),
} as const;

/**
 * Counts a range in one statement, so that all numbers are from one snapshot. Whole days are read from `days` and
 * `type_days` (threats by type), partial days at the ends of the range from `facts`; `get-metrics.ts` adds the parts.
 */
export const COUNT = statement(
  'metrics-count',
  COUNTED_RANGE,
  { ...MOMENT_COLUMNS, ...COUNTED },
  `
    select ${MOMENT},${countedColumns()}`,
);

/** The counts of a range. A part is null if it is empty. */
export type Counted = Omit<RowOf<typeof COUNT>, keyof typeof MOMENT_COLUMNS>;

/** Returns the parameters of a range. If a part of the range is empty, its first value is greater than its last value. */
export const countValues = (organization: string, brand: string, { from, to }: Range) => {
  const [firstDay, lastDay] = [Math.ceil(from / MS_PER_DAY), Math.floor((to + 1) / MS_PER_DAY) - 1];
  const beforeWholeDaysTo = Math.min(to, firstDay * MS_PER_DAY - 1);
  const afterWholeDaysFrom = Math.max((lastDay + 1) * MS_PER_DAY, beforeWholeDaysTo + 1);
  return { organization, brand, firstDay, lastDay, from, beforeWholeDaysTo, afterWholeDaysFrom, to };
};
