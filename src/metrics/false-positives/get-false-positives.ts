import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { Unavailable, Unprocessable } from '../../errors.js';
import { formatDay } from '../../events/instant.js';
import type { RequestedRange } from '../../http/range.js';
import { type AsOf, momentOf } from '../../http/responses/send-snapshot.js';
import { MetricsQueries } from '../metrics-queries.js';
import { countValues, MAX_DAYS, MAX_TYPES, TOO_MANY_COUNTS } from '../totals/count-sql.js';
import { type CountedFalsePositives, FALSE_POSITIVES } from './false-positives-sql.js';
import type { FalsePositiveCounts, FalsePositives, FalsePositivesOfType } from './false-positives.dto.js';

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
