import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { Unprocessable } from '../errors.js';
import { OUTCOME } from '../read-models/takedown-outcome.js';
import { MAX_TYPES, TOO_MANY } from './count-sql.js';
import { MetricsQueries } from './metrics-queries.js';
import type { AskedRange } from './range.js';
import { type CountedTakedowns, takedownStatistics, type Times } from './takedown-statistics-sql.js';
import type { TakedownStatistics, TakedownTimes } from './takedown-statistics.dto.js';

export interface TakedownStatisticsAsOf {
  readonly statistics: TakedownStatistics;
  /** Everything answered at the door before this instant (ms) is counted. */
  readonly asOf: number;
}

export class GetTakedownStatistics extends Query<TakedownStatisticsAsOf> {
  constructor(
    readonly organization: string,
    readonly range: AskedRange,
    readonly brand: string | undefined,
  ) {
    super();
  }
}

const timesOf = ([, count, times]: readonly [unknown, number, Times]): TakedownTimes => {
  const [median, p90, p99, longest] = times ?? [null, null, null, null];
  return { count, median, p90, p99, longest };
};

/** @throws Unprocessable where an answer cannot hold as many types */
const toStatistics = ({ outcomes, times }: CountedTakedowns): TakedownStatistics => {
  if (times === TOO_MANY)
    throw new Unprocessable(`An answer holds at most ${MAX_TYPES} asset types; ask for a shorter range`);
  const ended = new Map(outcomes);
  const [open, completed, canceled, retracted] = [
    OUTCOME.open,
    OUTCOME.completed,
    OUTCOME.canceled,
    OUTCOME.retracted,
  ].map((outcome) => ended.get(outcome) ?? 0) as [number, number, number, number];
  const filed = open + completed + canceled + retracted;
  return {
    filed,
    completed,
    open,
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
   * @throws Unprocessable where there are more asset types than an answer holds
   */
  execute(query: GetTakedownStatistics): Promise<TakedownStatisticsAsOf> {
    return this.queries.run(query, async (count, range) => {
      const counted = await count<CountedTakedowns>(takedownStatistics(query.organization, query.brand, range));
      return { statistics: toStatistics(counted), asOf: counted.asOf ?? 0 };
    });
  }
}
