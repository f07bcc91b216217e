import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { TimeSlices } from '../../flow/time-slices.js';
import { type AsOf, momentOf } from '../../http/responses/send-snapshot.js';
import { MetricsQueries } from '../metrics-queries.js';
import type { RequestedRange } from '../../http/range.js';
import { countTimeline, type Interval } from './timeline-sql.js';
import type { Timeline } from './timeline.dto.js';
import { toTimeline } from './timeline.js';

export class GetTimeline extends Query<AsOf<Timeline>> {
  constructor(
    readonly organization: string,
    readonly range: RequestedRange,
    readonly brand: string | undefined,
    readonly interval: Interval,
    /** The result reflects at least this position of the log. */
    readonly minPosition?: number,
  ) {
    super();
  }
}

@QueryHandler(GetTimeline)
export class GetTimelineHandler implements IQueryHandler<GetTimeline> {
  constructor(
    private readonly queries: MetricsQueries,
    private readonly slices: TimeSlices,
  ) {}

  /**
   * @throws as `MetricsQueries.run`
   * @throws Invalid if there are more than `MAX_POINTS` points, Unprocessable if there are more than `MAX_CELLS` counts
   *   by type
   */
  execute(query: GetTimeline): Promise<AsOf<Timeline>> {
    const { organization, brand, interval } = query;
    return this.queries.run(query, async (pool, range, now) => {
      const [counted] = await countTimeline(pool, organization, brand ?? '', range, interval, now);
      const timeline = await this.slices.run(organization, toTimeline(counted!, range, interval, now));
      return { result: timeline, ...momentOf(counted!), requestInstants: [now] };
    });
  }
}
