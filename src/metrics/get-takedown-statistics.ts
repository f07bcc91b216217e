import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { queryOf } from '../http/requests.js';
import { type Connection, json, nullable, type RowOf, statement } from '../postgres/statement.js';
import { MEASURE } from '../events/facts.js';
import { OUTCOME } from '../read-models/tables/records.js';
import { COUNTED_RANGE, countValues, MOMENT_COLUMNS, MAX_TYPES, OWNED, TOO_MANY } from './count-sql.js';
import type { Range } from '../http/parameters.js';
import { Unprocessable } from '../errors.js';
import { type AsOf, momentOf } from '../http/responses/send-snapshot.js';
import { MetricsQueries, type MetricsQuery } from './metrics-queries.js';
import type { TakedownStatistics, TakedownTimes } from './metrics.dto.js';

/** The percentiles; 1 is the maximum. `percentile_disc` returns actual durations without interpolation. */
const SHARES = 'array[0.5, 0.9, 0.99, 1]';

const { takedownFiled, takedownCompleted } = MEASURE;
const { completed, canceled, retracted } = OUTCOME;

/** The percentiles in `SHARES`, in ms; null if there are no durations. */
type Times = readonly [median: number, p90: number, p99: number, longest: number] | null;

const COLUMNS = {
  ...MOMENT_COLUMNS,
  /** Filed and completed takedowns; null if there are no such takedowns. */
  measures: nullable(json<readonly (readonly [measure: number, n: number])[]>()),
  /** Canceled and retracted takedowns; null if there are no such takedowns. */
  withdrawn: nullable(json<readonly (readonly [outcome: number, n: number])[]>()),
  /** Durations by type; the type is null for all types together. */
  times: json<readonly (readonly [type: string | null, n: number, times: Times])[] | typeof TOO_MANY>(),
};

/**
 * Counts takedowns by outcome and computes how long they took, in one statement and therefore from one snapshot. The
 * counts of filed and completed takedowns come from the tables of the metrics, whose projection commits in the same
 * transaction. Canceled and retracted takedowns are few and are counted row by row. A takedown that was completed
 * before it was created has no duration.
 * @param owned the SQL condition that selects the takedowns
 * @param dated the column that must be in the range for outcomes
 */
const statistics = (name: string, owned: string, dated: string) => {
  const facts = (first: string, last: string): string => `
          select measure, 1 from read.facts
          where ${OWNED} and measure in (${takedownFiled}, ${takedownCompleted})
            and at between ${first} and ${last}`;
  return statement(
    name,
    COUNTED_RANGE,
    COLUMNS,
    `
    select
      (select min(as_of) from read.checkpoints where projection in ('metrics', 'takedowns')) as "asOf",
      (select min(position) from read.checkpoints where projection in ('metrics', 'takedowns')) as position,
      (select json_agg(json_build_array(measure, n)) from (
        select measure, sum(n)::bigint as n from (
          select measure, n from read.days
          where ${OWNED} and measure in (${takedownFiled}, ${takedownCompleted})
            and day between :firstDay and :lastDay
          union all ${facts(':from', ':beforeWholeDaysTo')}
          union all ${facts(':afterWholeDaysFrom', ':to')}
        ) parts group by measure
      ) measures) as measures,
      (select json_agg(json_build_array(outcome, n)) from (
        select outcome, count(*) as n from read.takedowns
        where ${owned} and outcome in (${canceled}, ${retracted}) and ${dated} between :from and :to
        group by outcome
      ) outcomes) as withdrawn,
      (select case
          when count(*) > ${MAX_TYPES} + 1 then '"${TOO_MANY}"' else json_agg(json_build_array(type, n, times))
        end
      from (
        select type, count(*) as n, percentile_disc(${SHARES}) within group (order by took) filter (where took >= 0) as times
        from read.takedowns
        where ${owned} and outcome = ${completed} and updated_at between :from and :to
        group by grouping sets ((type), ()) limit ${MAX_TYPES} + 2
      ) types) as times`,
  );
};

export const OF_ORGANIZATION = statistics('takedown-statistics', 'organization = :organization', 'created_at');
export const OF_BRAND = statistics(
  'takedown-statistics-of-brand',
  `${OWNED} and brand <> '' and outcome is not null`,
  'updated_at',
);

/** The single row of the result. */
type CountedTakedowns = RowOf<typeof OF_ORGANIZATION>;

/** Plans the statement for these values, so that it reads types and durations in index order. */
const countTakedowns = (
  connection: Connection,
  organization: string,
  brand: string | undefined,
  range: Range,
): Promise<CountedTakedowns[]> =>
  (brand === undefined ? OF_ORGANIZATION : OF_BRAND).plan(connection, countValues(organization, brand ?? '', range));

export class GetTakedownStatistics extends queryOf<AsOf<TakedownStatistics>, MetricsQuery>() {}

const timesOf = ([, count, times]: readonly [unknown, number, Times]): TakedownTimes => {
  const [median, p90, p99, longest] = times ?? [null, null, null, null];
  return { count, median, p90, p99, longest };
};

/** @throws Unprocessable if there are more than `MAX_TYPES` asset types */
const toStatistics = ({ measures, withdrawn, times }: CountedTakedowns): TakedownStatistics => {
  if (times === TOO_MANY)
    throw new Unprocessable(`A response has at most ${MAX_TYPES} asset types; request a shorter range`);
  const counted = new Map(measures);
  const ended = new Map(withdrawn);
  const filed = counted.get(MEASURE.takedownFiled) ?? 0;
  const completed = counted.get(MEASURE.takedownCompleted) ?? 0;
  const canceled = ended.get(OUTCOME.canceled) ?? 0;
  const retracted = ended.get(OUTCOME.retracted) ?? 0;
  return {
    filed,
    completed,
    open: filed - completed - canceled - retracted,
    canceled,
    retracted,
    completionRate: filed === 0 ? null : completed / filed,
    timeToTakedown: {
      ...timesOf(times.find(([type]) => type === null)!),
      byType: times
        .flatMap((each) => (each[0] === null ? [] : [{ type: each[0], ...timesOf(each) }]))
        .sort((a, b) => b.count - a.count || (a.type < b.type ? -1 : 1)),
    },
  };
};

@QueryHandler(GetTakedownStatistics)
export class GetTakedownStatisticsHandler implements IQueryHandler<GetTakedownStatistics> {
  constructor(private readonly queries: MetricsQueries) {}

  /**
   * @throws as `MetricsQueries.run`
   * @throws Unprocessable if there are more than `MAX_TYPES` asset types
   */
  execute(query: GetTakedownStatistics): Promise<AsOf<TakedownStatistics>> {
    return this.queries.run(query, async (pool, range) => {
      const [counted] = await countTakedowns(pool, query.organization, query.brand, range);
      return { result: toStatistics(counted!), ...momentOf(counted!) };
    });
  }
}
