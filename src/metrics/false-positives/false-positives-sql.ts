import { dayInSql } from '../../events/instant.js';
import { json, nullable, type RowOf, statement } from '../../postgres/statement.js';
import { COUNTED_RANGE, MAX_DAYS, MAX_TYPES } from '../totals/count-sql.js';

/** The first version of the projection `records` that counts threats by day and type. */
export const FIRST_VERSION_WITH_DAYS = 4_002;

const { brand: _, ...RANGE } = COUNTED_RANGE;

const threats = (from: string, to: string): string => `
          select type, ${dayInSql('counted_at')} as day, 1 as n, case when counts then 0 else 1 end as wrong
          from read.counted_threats where organization = $1 and counted_at between ${from} and ${to}`;

/**
 * Counts threats by type and by day of first counting, and disputes, in one statement and therefore from one snapshot.
 * Whole days are read from `counted_threat_days`, partial days at the ends of the range from `counted_threats`. While the
 * rows are of a version that has not counted by day, the whole range is read from `counted_threats`. The limit is one row
 * more than a response may have, so that a range with too many days or types is detected. The parameters are those of
 * `COUNT`, without the brand.
 */
export const FALSE_POSITIVES = statement(
  'metrics-false-positives',
  RANGE,
  {
    /** Everything acknowledged before this instant (ms) is counted. */
    asOf: nullable('bigint'),
    position: nullable('bigint'),
    /** The version of the projection that has written the rows. */
    version: nullable('integer'),
    /** Counts of a type, for which the day is null, and of a day, for which the type is null. */
    threats:
      nullable(
        json<
          readonly (readonly [type: string | null, day: number | null, counted: number, falsePositives: number])[]
        >(),
      ),
    filed: 'bigint',
    accepted: 'bigint',
    rejected: 'bigint',
    /** ms */
    median: nullable('bigint'),
  },
  `
    with c as materialized (
      select as_of, position, version, version >= ${FIRST_VERSION_WITH_DAYS} as has_days
      from read.checkpoints where projection = 'records'
    )
    select c.as_of as "asOf", c.position, c.version, t.threats, d.filed, d.accepted, d.rejected, d.median
    from (
      select json_agg(json_build_array(type, day, counted, wrong)) as threats from (
        select type, day, sum(n) as counted, sum(wrong) as wrong from (
          select type, day, counted as n, false_positives as wrong from read.counted_threat_days
          where organization = $1 and day between $2::int and $3::int and (select has_days from c)
          union all${threats('$4::bigint', 'case when (select has_days from c) then $5::bigint else $7::bigint end')}
          union all${threats('$6::bigint', '$7::bigint')} and (select has_days from c)
        ) in_range
        group by grouping sets ((type), (day)) limit ${MAX_TYPES + MAX_DAYS + 1}
      ) groups
    ) t
    cross join (
      select count(*) as filed, count(*) filter (where outcome = 'ACCEPTED') as accepted,
        count(*) filter (where outcome = 'REJECTED') as rejected,
        percentile_disc(0.5) within group (order by resolved_at - created_at)
          filter (where resolved_at >= created_at) as median
      from read.disputes where organization = $1 and created_at between $4::bigint and $7::bigint
    ) d
    left join c on true`,
);

/** The single row of the result. */
export type CountedFalsePositives = RowOf<typeof FALSE_POSITIVES>;
