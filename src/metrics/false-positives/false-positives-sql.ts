import { dayOf, EARLIEST, MS_PER_DAY } from '../../events/instant.js';
import { json, nullable, type RowOf, statement } from '../../postgres/statement.js';
import { MAX_DAYS, MAX_TYPES } from '../totals/count-sql.js';

/**
 * Counts threats by type and by day of first counting, and disputes, in one statement and therefore from one snapshot.
 * The division begins at the earliest instant, because PostgreSQL rounds negative quotients up. The limit is one row
 * more than a response may have, so that a range with too many days or types is detected.
 */
export const FALSE_POSITIVES = statement(
  'metrics-false-positives',
  { organization: 'text', from: 'bigint', to: 'bigint' },
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
    select c.as_of as "asOf", c.position, c.version, t.threats, d.filed, d.accepted, d.rejected, d.median
    from (
      select json_agg(json_build_array(type, day, counted, wrong)) as threats from (
        select type, day, count(*) as counted, count(*) filter (where not counts) as wrong from (
          select type, counts, (counted_at - (${EARLIEST})) / ${MS_PER_DAY} + (${dayOf(EARLIEST)}) as day
          from read.counted_threats
          where organization = $1 and counted_at between $2::bigint and $3::bigint
        ) in_range
        group by grouping sets ((type), (day)) limit ${MAX_TYPES + MAX_DAYS + 1}
      ) groups
    ) t
    cross join (
      select count(*) as filed, count(*) filter (where outcome = 'ACCEPTED') as accepted,
        count(*) filter (where outcome = 'REJECTED') as rejected,
        percentile_disc(0.5) within group (order by resolved_at - created_at)
          filter (where resolved_at >= created_at) as median
      from read.disputes where organization = $1 and created_at between $2::bigint and $3::bigint
    ) d
    left join read.checkpoints c on c.projection = 'records'`,
);

/** The single row of the result. */
export type CountedFalsePositives = RowOf<typeof FALSE_POSITIVES>;
