import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { dayInSql, formatDay } from '../events/instant.js';
import { json, nullable, type RowOf, statement } from '../postgres/statement.js';
import { COUNTED_RANGE, MAX_DAYS, MAX_TYPES, countValues, TOO_MANY_COUNTS } from './count-sql.js';
import { Unavailable, Unprocessable } from '../errors.js';
import type { RequestedRange } from '../http/parameters.js';
import { type AsOf, momentOf } from '../http/responses/send-snapshot.js';
import { FIRST_VERSION_WITH_DAYS_AND_OBJECTS } from '../read-models/checkpoints.js';
import { MetricsQueries } from './metrics-queries.js';
import type { FalsePositiveCounts, FalsePositives, FalsePositivesOfType } from './metrics.dto.js';

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
      select as_of, position, version, version >= ${FIRST_VERSION_WITH_DAYS_AND_OBJECTS} as has_days
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

/** The first version of the projection `records` that writes the counted threats. */
const FIRST_VERSION = 4_001;
const RETRY_AFTER_SECONDS = 5;

export class GetFalsePositives extends Query<AsOf<FalsePositives>> {
  readonly brand = undefined;

  constructor(
    readonly organization: string,
    readonly range: RequestedRange,
    /** The result reflects at least this position of the log. */
    readonly minPosition?: number,
  ) {
    super();
  }
}

/** Counts of a type or of a day. */
const countsOf = (counted: number, falsePositives: number): FalsePositiveCounts => ({
  counted,
  falsePositives,
  rate: falsePositives / counted,
});

/**
 * @throws Unavailable while the rows are of an earlier version, which has not counted all threats
 * @throws Unprocessable if there are more than `MAX_DAYS` days or `MAX_TYPES` asset types
 */
const toFalsePositives = (row: CountedFalsePositives): FalsePositives => {
  const { version, filed, accepted, rejected, median: medianTimeToResolution } = row;
  if (version !== null && version < FIRST_VERSION)
    throw new Unavailable('The records are being rebuilt, so not all threats are counted yet', RETRY_AFTER_SECONDS);
  const byType: FalsePositivesOfType[] = [];
  const days: (readonly [day: number, counts: FalsePositiveCounts])[] = [];
  for (const [type, day, ...counts] of row.threats ?? [])
    if (day === null) byType.push({ type: type!, ...countsOf(...counts) });
    else days.push([day, countsOf(...counts)]);
  if (byType.length > MAX_TYPES || days.length > MAX_DAYS) throw new Unprocessable(TOO_MANY_COUNTS);
  const counted = byType.reduce((sum, each) => sum + each.counted, 0);
  const falsePositives = byType.reduce((sum, each) => sum + each.falsePositives, 0);
  return {
    totals: { counted, falsePositives, rate: counted === 0 ? null : falsePositives / counted },
    byType: byType.sort((a, b) => b.counted - a.counted || (a.type < b.type ? -1 : 1)),
    byDay: days.sort(([a], [b]) => a - b).map(([day, counts]) => ({ date: formatDay(day), ...counts })),
    disputes: { filed, accepted, rejected, open: filed - accepted - rejected, medianTimeToResolution },
  };
};

@QueryHandler(GetFalsePositives)
export class GetFalsePositivesHandler implements IQueryHandler<GetFalsePositives> {
  constructor(private readonly queries: MetricsQueries) {}

  /**
   * @throws as `MetricsQueries.run`
   * @throws Unavailable while the records are rebuilt by a version that counts false positives for the first time
   * @throws Unprocessable if the range has more than `MAX_DAYS` days or `MAX_TYPES` asset types with a counted threat
   */
  execute(query: GetFalsePositives): Promise<AsOf<FalsePositives>> {
    return this.queries.run(query, async (pool, range) => {
      const [row] = await FALSE_POSITIVES.run(pool, countValues(query.organization, '', range));
      return { result: toFalsePositives(row!), ...momentOf(row!) };
    });
  }
}
