import { dayInSql, dayOf, MS_PER_DAY } from '../events/instant.js';
import { json, nullable, type RowOf, statement } from '../postgres/statement.js';
import { type Range, rangeAt, type RequestedRange } from '../http/parameters.js';
import {
  COUNTED,
  COUNTED_RANGE,
  type Counted,
  countedColumns,
  countValues,
  MAX_DAYS,
  MOMENT,
  MOMENT_COLUMNS,
  TOO_MANY,
} from './count-sql.js';

// What the metrics said in the past: the counts of now, less the facts that have begun to count since, plus the facts that
// counted then and no longer count. `projections/metrics/history.ts` keeps the positions between which each fact counts.

/** A state of the log. */
export interface Moment {
  /** Everything up to this position was known. */
  readonly position: number;
  /** ms */
  readonly instant: number;
}

/**
 * The first event that was stored after an instant, and the instant of a position: the latest time at which the log stored
 * an event up to there. The projection `metrics` of an earlier version has not filled the table.
 */
export const READ_MOMENT = statement(
  'metrics-moment',
  { instant: 'bigint', position: 'bigint' },
  { version: nullable('integer'), next: nullable('bigint'), instant: nullable('bigint'), head: nullable('bigint') },
  `
    select
      (select version from read.checkpoints where projection = 'metrics') as version,
      (select position from read.log_clock where recorded_at > :instant order by recorded_at limit 1) as next,
      (select recorded_at from read.log_clock where position <= :position order by position desc limit 1) as instant,
      (select position from read.checkpoints where projection = 'metrics') as head`,
);

/** The first version of the projection `metrics` whose rows say since when they count. */
const FIRST_VERSION_WITH_HISTORY = 2;

/** Whether an earlier version has written the rows. */
export const lacksHistory = ({ version }: RowOf<typeof READ_MOMENT>): boolean =>
  version !== null && version < FIRST_VERSION_WITH_HISTORY;

/** The classes of delays (`lagOf`): the longest delay is less than 2^22 days. */
const MAX_LAG = 22;
/** The classes of spans (`spanOf`), in hexadecimal digits: positions are less than 2^53. */
const MAX_SPAN = 14;
/** Counts by measure, type and day in a correction. */
const MAX_CORRECTIONS = 10 * MAX_DAYS;

/** The parameters that say which facts of a range count otherwise at a moment than now. */
export const SINCE = {
  known: 'bigint',
  lags: 'smallint[]',
  firsts: 'bigint[]',
  lasts: 'bigint[]',
  dayFrom: 'bigint',
  rangeFrom: 'bigint',
  rangeTo: 'bigint',
} as const;
export const PAST = { ...SINCE, dayTo: 'bigint' } as const;

/**
 * Returns the values of the parameters. On the UTC days before the moment, only facts that were stored on a later day than
 * their own may be unknown; on the days after it, only facts that were stored on an earlier day are known. Each class of
 * delays has a window of its own, so that the number of examined facts grows with what was stored late around the moment,
 * not with the range.
 */
export const pastValues = ({ position, instant }: Moment, { from, to }: Range) => {
  const day = dayOf(instant);
  const windows: { readonly lag: number; readonly first: number; readonly last: number }[] = [];
  for (let lag = 1; lag <= MAX_LAG; lag += 1) {
    const days = 2 ** lag - 1;
    const late = { lag, first: Math.max(from, (day - days) * MS_PER_DAY), last: Math.min(to, day * MS_PER_DAY - 1) };
    const early = {
      lag: -lag,
      first: Math.max(from, (day + 1) * MS_PER_DAY),
      last: Math.min(to, (day + 1 + days) * MS_PER_DAY - 1),
    };
    windows.push(...[late, early].filter(({ first, last }) => first <= last));
  }
  return {
    known: position,
    lags: windows.map(({ lag }) => lag),
    firsts: windows.map(({ first }) => first),
    lasts: windows.map(({ last }) => last),
    dayFrom: Math.max(from, day * MS_PER_DAY),
    rangeFrom: from,
    rangeTo: to,
    dayTo: Math.min(to, (day + 1) * MS_PER_DAY - 1),
  };
};

export const OWNED = 'f.organization = :organization and f.brand = :brand';

/** Returns SQL for the facts in the windows for which `condition` holds. @param suffix of the names of the parameters */
export const displacedFacts = (condition: string, suffix = ''): string => `
          from unnest(:lags${suffix}, :firsts${suffix}, :lasts${suffix}) w (lag, first, last)
          cross join lateral (
            select * from read.facts f
            where ${OWNED} and f.lag = w.lag and f.lag <> 0 and f.at between w.first and w.last and ${condition}
          ) f`;

/** Returns SQL for the former facts of a range that counted at a position. */
export const formerFacts = (suffix = '', position = `:known${suffix}`): string => `
          from generate_series(1, ${MAX_SPAN}) s (span)
          cross join lateral (
            select * from read.former_facts f
            where ${OWNED} and f.span = s.span and f.since > ${position} - (1::bigint << 4 * s.span)
              and f.since <= ${position} and f.until > ${position}
              and f.at between :rangeFrom${suffix} and :rangeTo${suffix}
          ) f`;

/** What to add to the counts of the days before the moment, by measure, type and UTC day. */
type Corrections = readonly (readonly [measure: number, type: string, day: number, n: number])[];

/** Returns SQL for the corrections of a range. @param suffix of the names of the parameters */
export const corrections = (suffix = ''): string => `(
        select case when count(*) > ${MAX_CORRECTIONS} then '"${TOO_MANY}"'::json
          else coalesce(json_agg(json_build_array(measure, type, day, n)), '[]') end
        from (
          select measure, type, ${dayInSql('at')} as day, sum(n)::bigint as n from (
            select f.measure, f.type, f.at, sign(-f.lag)::int as n ${displacedFacts(
              `case when w.lag > 0 then f.since > :known${suffix} else f.since <= :known${suffix} end`,
              suffix,
            )}
            union all
            select f.measure, f.type, f.at, 1 from read.facts f
            where ${OWNED} and f.at between :dayFrom${suffix} and :dayTo${suffix} and f.since <= :known${suffix}
            union all
            select f.measure, f.type, f.at, 1 ${formerFacts(suffix)}
          ) parts group by measure, type, day having sum(n) <> 0 limit ${MAX_CORRECTIONS + 1}
        ) corrections
      )`;

/** The counts of a range as they were known at a moment. */
export interface KnownCounts extends Counted {
  readonly corrections: Corrections | typeof TOO_MANY;
}

/** The range of a request about the past. Without an end, it ends at the moment. */
export const rangeThen = (range: RequestedRange, { instant }: Moment): Range =>
  range.open === 'both' ? { from: range.from, to: instant } : rangeAt(range, instant);

/** The part of a range that is counted by whole days: before the UTC day of the moment. */
export const daysBefore = ({ from, to }: Range, { instant }: Moment): Range => ({
  from,
  to: Math.min(to, dayOf(instant) * MS_PER_DAY - 1),
});

/** The parameters of `COUNT_KNOWN`. */
export const knownValues = (organization: string, brand: string, range: Range, moment: Moment) => ({
  ...countValues(organization, brand, daysBefore(range, moment)),
  ...pastValues(moment, range),
});

export const COUNT_KNOWN = statement(
  'metrics-count-known',
  { ...COUNTED_RANGE, ...PAST },
  { ...MOMENT_COLUMNS, corrections: json<KnownCounts['corrections']>(), ...COUNTED },
  `
    select ${MOMENT},
      ${corrections()} as corrections,${countedColumns()}`,
);
