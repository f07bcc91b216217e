import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { Unprocessable } from '../../errors.js';
import { MEASURE } from '../../events/measure.js';
import { OUTCOME } from '../../read-models/takedown-outcome.js';
import { MAX_TYPES, TOO_MANY } from '../totals/count-sql.js';
import { type AsOf, momentOf } from '../../http/responses/send-snapshot.js';
import { MetricsQueries } from '../metrics-queries.js';
import type { RequestedRange } from '../../http/range.js';
import { type CountedTakedowns, countTakedowns, type Times } from './takedown-statistics-sql.js';
import type { TakedownStatistics, TakedownTimes } from './takedown-statistics.dto.js';

export class GetTakedownStatistics extends Query<AsOf<TakedownStatistics>> {
  constructor(
    readonly organization: string,
    readonly range: RequestedRange,
    readonly brand: string | undefined,
    /** The result reflects at least this position of the log. */
    readonly minPosition?: number,
  ) {
    super();
  }
}

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
