import { ApiProperty, OmitType } from '@nestjs/swagger';
import { MetricsRequest } from '../totals/metrics.dto.js';

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
