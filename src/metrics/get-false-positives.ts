import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { queryOf } from '../http/requests.js';
import { MEASURE } from '../events/facts.js';
import { dayInSql, formatDay } from '../events/instant.js';
import { json, nullable, type RowOf, statement } from '../postgres/statement.js';
import { COUNTED_RANGE, MAX_DAYS, MAX_TYPES, countValues, MOMENT_COLUMNS, TOO_MANY_COUNTS } from './count-sql.js';
import { Unavailable, Unprocessable } from '../errors.js';
import { type AsOf, momentOf } from '../http/responses/send-snapshot.js';
import { MetricsQueries, type MetricsQuery } from './metrics-queries.js';
import type { FalsePositiveCounts, FalsePositives, FalsePositivesOfType } from './metrics.dto.js';

const { brand: _, ...RANGE } = COUNTED_RANGE;

/**
 * Returns SQL that counts the threats of a partial day one by one: with what their newest states count, less the changed
 * threats among them, and the changed threats with what they counted first.
 */
const threats = (from: string, to: string): string => `
          select type, ${dayInSql('at')} as day, 1 as n, 0 as wrong from read.facts
          where organization = :organization and brand = '' and measure = ${MEASURE.threat}
            and at between ${from} and ${to}
          union all
          select newest_type, ${dayInSql('newest_at')}, -1, 0 from read.changed_threats
          where organization = :organization and newest_at between ${from} and ${to}
          union all
          select type, ${dayInSql('counted_at')}, 1, case when newest_at is null then 1 else 0 end
          from read.changed_threats where organization = :organization and counted_at between ${from} and ${to}`;

/**
 * Counts threats by type and by day of first counting, and disputes, in one statement and therefore from one snapshot.
 * Whole days are read from `type_days` and `changed_threat_days`, partial days at the ends of the range from `facts` and
 * `changed_threats`. The limit is one row more than a response may have, so that a range with too many days or types is
 * detected. The parameters are those of `COUNT`, without the brand.
 */
export const FALSE_POSITIVES = statement(
  'metrics-false-positives',
  RANGE,
  {
    ...MOMENT_COLUMNS,
    /** The version of the projection that has written the counted threats. */
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
        select type, day, sum(n) as counted, sum(wrong) as wrong from (
          select type, day, n, 0 as wrong from read.type_days
          where organization = :organization and brand = '' and day between :firstDay and :lastDay
          union all
          select type, day, counted, false_positives from read.changed_threat_days
          where organization = :organization and day between :firstDay and :lastDay
          union all${threats(':from', ':beforeWholeDaysTo')}
          union all${threats(':afterWholeDaysFrom', ':to')}
        ) in_range
        group by grouping sets ((type), (day)) having sum(n) > 0 limit ${MAX_TYPES + MAX_DAYS + 1}
      ) groups
    ) t
    cross join (
      select count(*) as filed, count(*) filter (where outcome = 'ACCEPTED') as accepted,
        count(*) filter (where outcome = 'REJECTED') as rejected,
        percentile_disc(0.5) within group (order by resolved_at - created_at)
          filter (where resolved_at >= created_at) as median
      from read.disputes where organization = :organization and created_at between :from and :to
    ) d
    cross join (
      select min(as_of) as as_of, min(position) as position, min(version) filter (where projection = 'metrics') as version
      from read.checkpoints where projection in ('metrics', 'register')
    ) c`,
);

/** The single row of the result. */
export type CountedFalsePositives = RowOf<typeof FALSE_POSITIVES>;

/** The first version of the projection `metrics` that writes the changed threats. */
const FIRST_VERSION = 3;
const RETRY_AFTER_SECONDS = 5;

export class GetFalsePositives extends queryOf<AsOf<FalsePositives>, Omit<MetricsQuery, 'brand'>>() {}

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
    throw new Unavailable('The metrics are being rebuilt, so not all threats are counted yet', RETRY_AFTER_SECONDS);
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
   * @throws Unavailable while the metrics are rebuilt by a version that counts false positives for the first time
   * @throws Unprocessable if the range has more than `MAX_DAYS` days or `MAX_TYPES` asset types with a counted threat
   */
  execute(query: GetFalsePositives): Promise<AsOf<FalsePositives>> {
    return this.queries.run(query, async (pool, range) => {
      const [row] = await FALSE_POSITIVES.run(pool, countValues(query.organization, '', range));
      return { result: toFalsePositives(row!), ...momentOf(row!) };
    });
  }
}
