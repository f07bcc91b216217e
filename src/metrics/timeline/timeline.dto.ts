import { ApiProperty } from '@nestjs/swagger';
import { IsOneOf } from '../../http/parameters.js';
import { MetricsRequest } from '../totals/metrics.dto.js';
import { type Interval, INTERVALS } from './timeline-sql.js';

export class TimelineRequest extends MetricsRequest {
  /**
   * The interval that each point covers: a UTC day, an ISO week (starting on Monday), or a calendar month, quarter or
   * year.
   * @example 'week'
   */
  @IsOneOf(INTERVALS, 'day')
  interval?: Interval;
}

export class Window {
  /** The first instant of the range. @example '2026-01-01T00:00:00.000Z' */
  startDate!: string;
  /** The last instant of the range, inclusive. @example '2026-01-31T23:59:59.999Z' */
  endDate!: string;
}

export class TimelinePoint {
  /** The first instant of the interval, or the first instant of the range if the range starts within the interval. @example '2026-01-01T00:00:00.000Z' */
  start!: string;
  /** The last instant of the interval, or the last instant of the range if the range ends within the interval. @example '2026-01-04T23:59:59.999Z' */
  end!: string;
  /** Reports filed. @example 57 */
  reports!: number;
  /** Threats blocked; always the sum of `byType`. @example 1204 */
  newThreats!: number;
  /** Threats on the watchlist; always 0 for a brand. @example 31 */
  threatsWatchlisted!: number;
  /** Takedown requests filed. @example 112 */
  takedownsFiled!: number;
  /** Takedown requests completed. @example 98 */
  takedownsCompleted!: number;
  /** Threats blocked by asset type; types without blocked threats are omitted. */
  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'integer' },
    example: { URL: 1204 },
  })
  byType!: Record<string, number>;
}

export class Timeline {
  /**
   * The range that the points cover. If `startDate` is absent, the range starts with the interval of the first
   * record. If both dates are absent, the range ends now, or with the last record if the last record is dated in the
   * future.
   */
  window!: Window;
  /** @example 'week' */
  @ApiProperty({ enum: INTERVALS })
  interval!: Interval;
  /** Every interval of the range in order, including intervals without records. */
  points!: TimelinePoint[];
}
