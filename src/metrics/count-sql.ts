import { MEASURE } from '../read-models/measure.js';

/**
 * Counts a range in one statement, so that every number is of one snapshot: whole days from `days`, the broken days at
 * both edges from `facts`. Per day and per type are sums of the same rows, so they always agree.
 *
 * $1 organization, $2 brand, $3 and $4 first and last whole day, $5 to $8 from and to of the two broken edges (ms).
 */
export const COUNT = {
  name: 'metrics-count',
  text: `
    with counted as (
      select measure, day, type, n from read.days
      where organization = $1 and brand = $2 and day between $3::int and $4::int
      union all
      select measure, ((at - case when at < 0 then 86399999 else 0 end) / 86400000)::int, type, count(*)
      from read.facts
      where organization = $1 and brand = $2
        and (at between $5::bigint and $6::bigint or at between $7::bigint and $8::bigint)
      group by 1, 2, 3
    ), grouped as materialized (
      select measure, case when measure = ${MEASURE.threat} then day end as day, type, sum(n)::bigint as n
      from counted
      group by grouping sets ((measure, case when measure = ${MEASURE.threat} then day end), (measure, type))
    )
    select
      (select as_of from read.checkpoints where projection = 'metrics') as "asOf",
      (select json_object_agg(measure, n) from grouped where day is null and type = '' and measure <> ${MEASURE.threat}) as totals,
      (select json_agg(json_build_array(type, n)) from grouped where measure = ${MEASURE.threat} and day is null) as types,
      (select json_agg(json_build_array(day, n) order by day) from grouped
        where measure = ${MEASURE.threat} and day is not null) as days`,
};

export interface Counted {
  /** Everything answered at the door before this instant (ms) is counted. */
  readonly asOf: number | null;
  /** Counts by measure, threats apart. */
  readonly totals: Readonly<Record<string, number>> | null;
  readonly types: readonly (readonly [type: string, n: number])[] | null;
  readonly days: readonly (readonly [day: number, n: number])[] | null;
}
