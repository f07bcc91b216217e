import { dayInSql, dayOf, MS_PER_DAY } from '../events/instant.js';
import { MEASURE, type Fact } from '../events/facts.js';
import { LISTED_KIND } from '../events/listed-items.js';
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
      (select position from read.log_clock where recorded_at > $1 order by recorded_at limit 1) as next,
      (select recorded_at from read.log_clock where position <= $2 order by position desc limit 1) as instant,
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
const SINCE = {
  known: 'bigint',
  lags: 'smallint[]',
  firsts: 'bigint[]',
  lasts: 'bigint[]',
  dayFrom: 'bigint',
  rangeFrom: 'bigint',
  rangeTo: 'bigint',
} as const;
const PAST = { ...SINCE, dayTo: 'bigint' } as const;

type Past = Readonly<Record<keyof typeof PAST, string>>;

/** The placeholders of these parameters. @param first the number of the first of them */
const pastAt = (first: number): Past =>
  Object.fromEntries(Object.entries(PAST).map(([name, type], n) => [name, `$${first + n}::${type}`])) as Past;

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

const OWNED = 'f.organization = $1 and f.brand = $2';

/** Returns SQL for the facts in the windows for which `condition` holds. */
const displacedFacts = ({ lags, firsts, lasts }: Past, condition: string): string => `
          from unnest(${lags}, ${firsts}, ${lasts}) w (lag, first, last)
          cross join lateral (
            select * from read.facts f
            where ${OWNED} and f.lag = w.lag and f.lag <> 0 and f.at between w.first and w.last and ${condition}
          ) f`;

/** Returns SQL for the former facts of a range that counted at a position. */
const formerFacts = ({ rangeFrom, rangeTo }: Past, position: string): string => `
          from generate_series(1, ${MAX_SPAN}) s (span)
          cross join lateral (
            select * from read.former_facts f
            where ${OWNED} and f.span = s.span and f.since > ${position} - (1::bigint << 4 * s.span)
              and f.since <= ${position} and f.until > ${position} and f.at between ${rangeFrom} and ${rangeTo}
          ) f`;

/** What to add to the counts of the days before the moment, by measure, type and UTC day. */
type Corrections = readonly (readonly [measure: number, type: string, day: number, n: number])[];

const corrections = (past: Past): string => {
  const { known, dayFrom, dayTo } = past;
  return `(
        select case when count(*) > ${MAX_CORRECTIONS} then '"${TOO_MANY}"'::json
          else coalesce(json_agg(json_build_array(measure, type, day, n)), '[]') end
        from (
          select measure, type, ${dayInSql('at')} as day, sum(n)::bigint as n from (
            select f.measure, f.type, f.at, sign(-f.lag)::int as n ${displacedFacts(
              past,
              `case when w.lag > 0 then f.since > ${known} else f.since <= ${known} end`,
            )}
            union all
            select f.measure, f.type, f.at, 1 from read.facts f
            where ${OWNED} and f.at between ${dayFrom} and ${dayTo} and f.since <= ${known}
            union all
            select f.measure, f.type, f.at, 1 ${formerFacts(past, known)}
          ) parts group by measure, type, day having sum(n) <> 0 limit ${MAX_CORRECTIONS + 1}
        ) corrections
      )`;
};

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
      ${corrections(pastAt(9))} as corrections,${countedColumns(3)}`,
);

/**
 * Returns SQL for the facts of a range that count at one of two positions and not at the other: `n` is 1 if at the later
 * one, -1 if at the earlier one.
 */
const changedFacts = (then: Past, now: string): string => {
  const { known, dayFrom, rangeTo } = then;
  return `
        select measure, type, at, record, sum(n)::int as n from (
          select f.measure, f.type, f.at, f.record, 1 as n ${displacedFacts(
            then,
            `w.lag > 0 and f.since > ${known} and f.since <= ${now}`,
          )}
          union all
          select f.measure, f.type, f.at, f.record, 1 from read.facts f
          where ${OWNED} and f.at between ${dayFrom} and ${rangeTo} and f.since > ${known} and f.since <= ${now}
          union all
          select f.measure, f.type, f.at, f.record, 1 ${formerFacts(then, now)}
          where f.since > ${known}
          union all
          select f.measure, f.type, f.at, f.record, -1 ${formerFacts(then, known)}
          where f.until <= ${now}
        ) differences group by measure, type, at, record having sum(n) <> 0`;
};

/** SQL for the owner and the kind of the record of a fact, as in the key of `read.records`. */
const RECORD_OF_FACT = `
        select case when f.measure = ${MEASURE.threat} and $2 <> '' then '' else $1 end as owner,
          case
            when f.measure = ${MEASURE.report} then 'report'
            when f.measure in (${MEASURE.takedownFiled}, ${MEASURE.takedownCompleted}) then 'takedown'
            when $2 = '' then 'threat'
            else 'assetStatus'
          end as kind`;

/** SQL for the condition that a state concerns the organization, which need not be the owner of the record. */
const concerns = (state: string): string =>
  `(${state}.organization <> '' or $1 = any(${state}.named)
              or strpos(${state}.counts::text, '[' || to_json($1::text) || ',') > 0)`;

/** SQL for the states of a record, in rows of `columns`. */
const statesOf = (columns: string, condition: string): string =>
  ['records', 'former_states'].map(
    (table) => `
            select ${columns} from read.${table} s
            where s.organization = r.owner and s.kind = r.kind and s.id = r.record and ${condition}`,
  ).join(`
            union all`);

/** SQL for the position of the first state of a record that concerns the organization. */
const FIRST_POSITION = `
          select min(position) as position from (${statesOf('s.position', concerns('s'))}
          ) states`;

/** SQL for the position of the first event that was stored after the end of the range; null if there is none. */
const afterRange = ({ rangeTo }: Past): string =>
  `(select position from read.log_clock where recorded_at > ${rangeTo} order by recorded_at limit 1)`;

/** The numbers of facts that count at one of two moments only. A late record was first stored after the range and `then`. */
type ChangeCounts = readonly (readonly [
  measure: number,
  type: string,
  isLate: boolean,
  added: number,
  removed: number,
])[];

const THEN = pastAt(9);
const NOW = pastAt(23);

/** Counts a range as known at two moments, and what changed between them, in one statement and from one snapshot. */
export const RESTATEMENT = statement(
  'metrics-restatement',
  {
    ...COUNTED_RANGE,
    ...PAST,
    ...Object.fromEntries(
      Object.entries({ ...COUNTED_RANGE, ...PAST })
        .filter(([name]) => name !== 'organization' && name !== 'brand')
        .map(([name, type]) => [`${name}Now`, type]),
    ),
  },
  {
    ...MOMENT_COLUMNS,
    then: json<KnownCounts>(),
    now: json<KnownCounts>(),
    changes: json<ChangeCounts>(),
  },
  `
    select ${MOMENT},
      (select row_to_json(c) from (select ${corrections(THEN)} as corrections,${countedColumns(3)}) c) as then,
      (select row_to_json(c) from (select ${corrections(NOW)} as corrections,${countedColumns(17)}) c) as now,
      (
        select coalesce(json_agg(json_build_array(measure, type, late, added, removed)), '[]') from (
          select r.measure, r.type, late.late, count(*) filter (where r.n > 0) as added,
            count(*) filter (where r.n < 0) as removed
          from (
            select f.*, k.* from (${changedFacts(THEN, NOW.known)}
            ) f cross join lateral (${RECORD_OF_FACT}) k
          ) r
          cross join lateral (${FIRST_POSITION}) first
          cross join lateral (
            select first.position > ${THEN.known} and coalesce(first.position >= ${afterRange(THEN)}, false) as late
          ) late
          group by r.measure, r.type, late.late
        ) counts
      ) as changes`,
);

export const restatementValues = (
  organization: string,
  brand: string,
  range: Range,
  then: Moment,
  now: Moment,
): Parameters<typeof RESTATEMENT.run>[1] =>
  ({
    ...knownValues(organization, brand, range, then),
    ...Object.fromEntries(
      Object.entries(knownValues(organization, brand, range, now)).map(([name, value]) => [`${name}Now`, value]),
    ),
  }) as never;

/** The state of a record at a moment. */
interface StateThen {
  readonly facts: readonly Fact[];
  readonly version: number;
  /** Whether the state is about the organization: an entry of the asset status history may have named only others. */
  readonly concerns: boolean;
}

/**
 * Lists the records with such facts, the one whose state at the later moment was stored last first. If an entry of the
 * asset status history no longer names the organization, that is its state, whatever happens to the entry afterwards.
 */
export const RESTATED_RECORDS = statement(
  'metrics-restated-records',
  { organization: 'text', brand: 'text', ...SINCE, now: 'bigint', before: 'bigint', limit: 'bigint' },
  {
    ...MOMENT_COLUMNS,
    records: json<
      readonly {
        readonly kind: 'report' | 'threat' | 'takedown' | 'assetStatus';
        readonly id: string;
        readonly position: number;
        /** When the log stored the event of the later state, in ms. */
        readonly changedAt: number;
        readonly isNew: boolean;
        readonly isLate: boolean;
        readonly then: StateThen | null;
        readonly now: StateThen;
        /** The item of the record in lists, as JSON. Null: the record is deleted. */
        readonly item: string | null;
      }[]
    >(),
  },
  `
    select ${MOMENT}, (
      select coalesce(json_agg(listed order by listed.position desc), '[]') from (
        select r.kind, r.record as id, present.position,
          (select recorded_at from read.log_clock c where c.position <= present.position order by c.position desc limit 1)
            as "changedAt",
          first.position > ${pastAt(3).known} as "isNew",
          first.position > ${pastAt(3).known} and coalesce(first.position >= ${afterRange(pastAt(3))}, false) as "isLate",
          past.state as then, present.state as now, l.item
        from (
          select distinct k.owner, k.kind, f.record from (${changedFacts(pastAt(3), '$10')}
          ) f cross join lateral (${RECORD_OF_FACT}) k
        ) r
        cross join lateral (
          select position, json_build_object('facts', counts, 'version', version, 'concerns', concerns) as state from (
            select *, max(position) filter (where concerns) over () as own from (${statesOf(
              `s.position, s.counts, s.version, ${concerns('s')} as concerns`,
              's.position <= $10',
            )}
            ) states
          ) states where position >= own order by position = own, position limit 1
        ) present
        cross join lateral (${FIRST_POSITION}) first
        left join lateral (
          select json_build_object('facts', counts, 'version', version, 'concerns', concerns) as state from (${statesOf(
            `s.position, s.counts, s.version, ${concerns('s')} as concerns`,
            `s.position <= ${pastAt(3).known}`,
          )}
          ) states order by position desc limit 1
        ) past on true
        left join read.listed_records l on l.organization = $1 and l.id = r.record and l.kind = case r.kind
          when 'report' then ${LISTED_KIND.report} when 'threat' then ${LISTED_KIND.threat}
          when 'takedown' then ${LISTED_KIND.takedown} else ${LISTED_KIND.verdict} end
        where present.position < $11
        order by present.position desc limit $12
      ) listed
    ) as records`,
);

export type RestatedRow = RowOf<typeof RESTATED_RECORDS>['records'][number];
