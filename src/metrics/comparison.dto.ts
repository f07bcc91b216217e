import { ApiProperty, OmitType } from '@nestjs/swagger';
import { IsDefined } from 'class-validator';
import { IsOneOf } from '../http/parameters.js';
import { classPerMetric, MetricsRequest, Totals, Window } from './metrics.dto.js';

export const COMPARISON_WINDOWS = ['previous', 'year'] as const;
export type ComparisonWindow = (typeof COMPARISON_WINDOWS)[number];

export class ComparisonRequest extends OmitType(MetricsRequest, ['startDate']) {
  /**
   * The first instant that is counted: an ISO 8601 date, which means its first millisecond in UTC, or a date-time,
   * which is in UTC unless it has an offset.
   * @example '2026-01-01'
   */
  @IsDefined({ message: 'startDate is required' })
  startDate!: string;

  /**
   * The earlier range: the range of equal length just before the requested range (`previous`), or the same dates a
   * year earlier (`year`). With `year`, 29 February is compared with 28 February. If the requested range ends on a 29
   * February and begins on an earlier day, the earlier range includes all of 28 February.
   * @example 'previous'
   */
  @IsOneOf(COMPARISON_WINDOWS, 'previous')
  with?: ComparisonWindow;
}

export class ComparedMetrics {
  window!: Window;
  metrics!: Totals;
}

const RATIOS: Totals = {
  reports: 0.95,
  newThreats: 0.9901,
  threatsWatchlisted: 0.9118,
  takedownsFiled: 0.9739,
  takedownsCompleted: 0.9703,
  domainThreats: 0.9973,
  twitterThreats: 0.9524,
  telegramThreats: 0.9302,
  otherThreats: 0.5714,
};

/**
 * Each metric of the requested range divided by the same metric of the earlier range. Null if the metric of the
 * earlier range is 0.
 */
export class Ratios extends classPerMetric<number | null>((name) => ({
  type: Number,
  nullable: true,
  example: RATIOS[name],
})) {}

/** Unlike a count, a difference may be negative. */
export const DIFFERENCE = { type: 'integer', format: 'int64', example: -3 } as const;

/** Each metric of the requested range minus the same metric of the earlier range. */
export class Differences extends classPerMetric<number>((name) => ({
  ...DIFFERENCE,
  ...(name === 'newThreats' && { example: -12 }),
})) {}

export class Comparison {
  /** @example 'previous' */
  @ApiProperty({ enum: COMPARISON_WINDOWS })
  with!: ComparisonWindow;
  /** The requested range. */
  current!: ComparedMetrics;
  /**
   * The range that the requested range is compared with.
   * @example {"window": {"startDate": "2025-12-01T00:00:00.000Z", "endDate": "2025-12-31T23:59:59.999Z"}, "metrics": {"reports": 60, "newThreats": 1216, "threatsWatchlisted": 34, "takedownsFiled": 115, "takedownsCompleted": 101, "domainThreats": 1103, "twitterThreats": 63, "telegramThreats": 43, "otherThreats": 7}}
   */
  earlier!: ComparedMetrics;
  /** Each metric of the requested range minus the same metric of the earlier range. */
  difference!: Differences;
  /**
   * Each metric of the requested range divided by the same metric of the earlier range. Null if the metric of the
   * earlier range is 0.
   */
  ratio!: Ratios;
}
