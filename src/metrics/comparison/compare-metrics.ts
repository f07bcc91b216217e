import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { formatInstant } from '../../events/instant.js';
import { COMPARISON, comparisonValues, totalsOf } from './comparison-sql.js';
import type { ComparedMetrics, Comparison } from './comparison.dto.js';
import { type ComparisonWindow, earlierRange } from './earlier-range.js';
import type { Totals } from '../totals/metrics.dto.js';
import { type AsOf, momentOf } from '../../http/responses/send-snapshot.js';
import { MetricsQueries } from '../metrics-queries.js';
import type { RequestedRange, Range } from '../../http/range.js';

export class CompareMetrics extends Query<AsOf<Comparison>> {
  constructor(
    readonly organization: string,
    readonly range: RequestedRange,
    readonly brand: string | undefined,
    readonly earlier: ComparisonWindow,
    /** The result reflects at least this position of the log. */
    readonly minPosition?: number,
  ) {
    super();
  }
}

const compared = ({ from, to }: Range, metrics: Totals): ComparedMetrics => ({
  window: { startDate: formatInstant(from), endDate: formatInstant(to) },
  metrics,
});

const eachOf = <Value>(totals: Totals, value: (name: keyof Totals) => Value): Record<keyof Totals, Value> =>
  Object.fromEntries(Object.keys(totals).map((name) => [name, value(name as keyof Totals)])) as Record<
    keyof Totals,
    Value
  >;

@QueryHandler(CompareMetrics)
export class CompareMetricsHandler implements IQueryHandler<CompareMetrics> {
  constructor(private readonly queries: MetricsQueries) {}

  /**
   * @throws as `MetricsQueries.run`
   * @throws Invalid if the earlier range would begin before year 1
   */
  execute(query: CompareMetrics): Promise<AsOf<Comparison>> {
    const { organization, brand } = query;
    return this.queries.run(query, async (pool, range) => {
      const before = earlierRange(range, query.earlier);
      const [counted] = await COMPARISON.run(pool, comparisonValues(organization, brand ?? '', range, before));
      const [current, earlier] = [totalsOf(counted!.current), totalsOf(counted!.earlier)];
      return {
        result: {
          with: query.earlier,
          current: compared(range, current),
          earlier: compared(before, earlier),
          difference: eachOf(current, (name) => current[name] - earlier[name]),
          ratio: eachOf(current, (name) => (earlier[name] === 0 ? null : current[name] / earlier[name])),
        },
        ...momentOf(counted!),
        requestInstants: query.range.to === undefined ? [range.to, before.from, before.to] : [],
      };
    });
  }
}
