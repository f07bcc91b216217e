import { ApiProperty, type ApiPropertyOptions, OmitType } from '@nestjs/swagger';
import { IsBrandSlug, IsDateText, IsGivenOnce, IsOneOf } from '../http/parameters.js';
import { type Interval, INTERVALS } from './timeline-sql.js';

export class MetricsRequest {
  /**
   * Restricts the metrics to one of the organization's brands; requires the feature flag `brands-metrics`.
   * @example 'acme-wallet'
   */
  @IsBrandSlug()
  brandSlug?: string;

  /**
   * The first instant that is counted: an ISO 8601 date, which means its first millisecond in UTC, or a date-time,
   * which is in UTC unless it has an offset. Default: the beginning of time.
   * @example '2026-01-01T00:00:00.000Z'
   */
  @IsDateText()
  startDate?: string;

  /**
   * The last instant that is counted: an ISO 8601 date, which means its last millisecond in UTC, or a date-time, which
   * is in UTC unless it has an offset. Default: now if `startDate` is given; otherwise everything is counted.
   * @example '2026-01-31'
   */
  @IsDateText()
  endDate?: string;
}

export class MetricsAtRequest extends MetricsRequest {
  /**
   * Returns the metrics as the service knew them at an instant in the past, a date-time with a zone, or in the state of the
   * `Consistency-Token` of an earlier response. Without `endDate`, the range ends at that instant.
   * @example '2026-03-01T00:00:00Z'
   */
  @IsGivenOnce()
  knownAt?: string;
}

export class Totals {
  /** Reports filed. @example 57 */
  reports!: number;
  /**
   * Threats blocked. The four fields by type, the counts in `blockedByType` and the counts in `blockedByDay` each add
   * up to this number.
   * @example 1204
   */
  newThreats!: number;
  /** Threats on the watchlist; always 0 for a brand. @example 31 */
  threatsWatchlisted!: number;
  /** Takedown requests filed. @example 112 */
  takedownsFiled!: number;
  /** Takedown requests completed. @example 98 */
  takedownsCompleted!: number;
  /** Blocked threats of type URL or PAGE. @example 1100 */
  domainThreats!: number;
  /** Blocked threats of type TWITTER. @example 60 */
  twitterThreats!: number;
  /** Blocked threats of type TELEGRAM. @example 40 */
  telegramThreats!: number;
  /** Blocked threats of all other types. @example 4 */
  otherThreats!: number;
}

/** The metrics of which a record is a unit, whatever its asset type. */
export const METRICS_OF_RECORDS = [
  'reports',
  'newThreats',
  'threatsWatchlisted',
  'takedownsFiled',
  'takedownsCompleted',
] as const satisfies readonly (keyof Totals)[];
export type MetricOfRecords = (typeof METRICS_OF_RECORDS)[number];

export const METRIC_NAMES = [
  ...METRICS_OF_RECORDS,
  'domainThreats',
  'twitterThreats',
  'telegramThreats',
  'otherThreats',
] as const satisfies readonly (keyof Totals)[];

export const eachOf = <Name extends string, Value>(
  names: readonly Name[],
  value: (name: Name) => Value,
): Record<Name, Value> => Object.fromEntries(names.map((name) => [name, value(name)])) as Record<Name, Value>;

/** Returns a class with a property per metric. @param schemaOf returns the OpenAPI schema of a metric's property */
export const classPerMetric = <Value>(
  schemaOf: (name: keyof Totals) => ApiPropertyOptions,
): new () => Record<keyof Totals, Value> => {
  class PerMetric {}
  for (const name of METRIC_NAMES) ApiProperty(schemaOf(name))(PerMetric.prototype, name);
  return PerMetric as new () => Record<keyof Totals, Value>;
};

export class BlockedOfType {
  /** The asset type. @example 'URL' */
  type!: string;
  /** Threats blocked. @example 1090 */
  count!: number;
}

export class BlockedOnDay {
  /** The UTC day. @example '2026-01-31' */
  @ApiProperty({ type: String, format: 'date' })
  date!: string;
  /** Threats blocked. @example 12 */
  count!: number;
}

export class Metrics {
  metrics!: Totals;
  /** One item per asset type with a blocked threat, sorted by count (highest first), then by name. */
  blockedByType!: BlockedOfType[];
  /** One item per day with a blocked threat, in chronological order. */
  blockedByDay!: BlockedOnDay[];
}

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

export class FalsePositivesRequest extends OmitType(MetricsRequest, ['brandSlug']) {}

export class FalsePositiveCounts {
  /** Threats that were first counted as `newThreats` in the range. @example 1204 */
  counted!: number;
  /** Of the threats in `counted`, those that no longer count, because their status changed or because they were deleted. @example 14 */
  falsePositives!: number;
  /** `falsePositives` divided by `counted`. @example 0.0116 */
  @ApiProperty({ type: Number, format: 'double', minimum: 0, maximum: 1 })
  rate!: number;
}

export class FalsePositiveTotals extends OmitType(FalsePositiveCounts, ['rate']) {
  /** `falsePositives` divided by `counted`. Null if `counted` is 0. @example 0.0116 */
  rate!: number | null;
}

export class FalsePositivesOfType extends FalsePositiveCounts {
  /** The asset type. @example 'URL' */
  type!: string;
}

export class FalsePositivesOnDay extends FalsePositiveCounts {
  /** The UTC day on which the threats were first counted. @example '2026-01-31' */
  @ApiProperty({ type: String, format: 'date' })
  date!: string;
}

/** The disputes that the organization filed in the range. */
export class DisputeCounts {
  /** Disputes filed. Equal to the sum of `accepted`, `rejected` and `open`. @example 6 */
  filed!: number;
  /** Of the disputes in `filed`, those that were accepted: the verdict was wrong. @example 3 */
  accepted!: number;
  /** Of the disputes in `filed`, those that were rejected: the verdict was right. @example 2 */
  rejected!: number;
  /** Of the disputes in `filed`, those that are not decided. @example 1 */
  open!: number;
  /**
   * Half of the decided disputes in `filed` were decided within this time, in ms. An actual duration, not interpolated.
   * Null if there are no decided disputes. A dispute whose decision is dated before its filing has no duration.
   * @example 86400000
   */
  medianTimeToResolution!: number | null;
}

/**
 * A threat is dated by the earliest `createdAt` with which it ever counted, and has the type that it had then. It is a
 * false positive if its current state does not count.
 */
export class FalsePositives {
  totals!: FalsePositiveTotals;
  /** One item per asset type, sorted by `counted` (highest first), then by name. */
  byType!: FalsePositivesOfType[];
  /** One item per day with a counted threat, in chronological order. */
  byDay!: FalsePositivesOnDay[];
  disputes!: DisputeCounts;
}

export class TakedownTimes {
  /** Number of takedowns that were completed in the range, regardless of when they were filed. @example 98 */
  count!: number;
  /** Half of these takedowns took at most this long, in ms. Null if there are no takedowns. @example 172800000 */
  median!: number | null;
  /** 90 % of these takedowns took at most this long, in ms. Null if there are no takedowns. @example 518400000 */
  p90!: number | null;
  /** 99 % of these takedowns took at most this long, in ms. Null if there are no takedowns. @example 1209600000 */
  p99!: number | null;
  /** The longest duration, in ms. Null if there are no takedowns. @example 1814400000 */
  longest!: number | null;
}

export class TakedownTimesOfType extends TakedownTimes {
  /** The asset type. @example 'URL' */
  type!: string;
}

export class TimeToTakedown extends TakedownTimes {
  /** The same figures for each asset type with a takedown completed in the range, sorted by count (highest first), then by name. */
  byType!: TakedownTimesOfType[];
}

/**
 * Takedowns are counted as in the metrics: deleted takedowns are excluded, and each takedown counts in its current state.
 * The takedowns of an organization are dated by creation, and those of a brand by last change. Durations are dated by
 * completion, so that the durations of a range are those of the takedowns completed in that range.
 */
export class TakedownStatistics {
  /** Takedowns filed in the range, or, for a brand, last changed in the range. Equal to the sum of `completed`, `open`, `canceled` and `retracted`. @example 112 */
  filed!: number;
  /** Of the takedowns counted in `filed`, those that are completed. @example 90 */
  completed!: number;
  /** Of the takedowns counted in `filed`, those that have not ended, including those whose retraction has been requested but is not finished. @example 12 */
  open!: number;
  /** Of the takedowns counted in `filed`, those that were canceled. @example 7 */
  canceled!: number;
  /** Of the takedowns counted in `filed`, those that were retracted. @example 3 */
  retracted!: number;
  /** `completed` divided by `filed`. Null if `filed` is 0. @example 0.8036 */
  completionRate!: number | null;
  /**
   * How long the takedowns took that were completed in the range: from `createdAt` to the `updatedAt` of the completed
   * state. Each figure is an actual duration, not interpolated. A takedown whose completion is dated before its
   * creation counts in `count`, but has no duration.
   */
  timeToTakedown!: TimeToTakedown;
}
