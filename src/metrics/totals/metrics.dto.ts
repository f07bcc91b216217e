import { ApiProperty } from '@nestjs/swagger';
import { IsBrandSlug, IsDateText } from '../../http/parameters.js';

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
