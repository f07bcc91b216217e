import { ApiProperty } from '@nestjs/swagger';
import { IsGivenOnce } from '../../http/parameters.js';
import { type Outcome, OUTCOMES } from './statements.js';

export class EventUsageRequest {
  /**
   * The first UTC day. Default: 89 days ago, which is also the earliest day.
   * @example "2026-03-01"
   */
  @IsGivenOnce()
  @ApiProperty({ type: String, format: 'date', required: false })
  from?: string;

  /**
   * The last UTC day. Default: today.
   * @example "2026-03-31"
   */
  @IsGivenOnce()
  @ApiProperty({ type: String, format: 'date', required: false })
  to?: string;
}

/** Events of one UTC day, type and outcome. */
export class DayUsageDto {
  /** @example "2026-03-01" */
  @ApiProperty({ type: String, format: 'date' })
  day!: string;
  /**
   * The event type. `other` stands for every type that upstream may not send.
   * @example "ThreatStatusChanged"
   */
  type!: string;
  @ApiProperty({ enum: OUTCOMES, example: 'accepted' })
  outcome!: Outcome;
  /** @example 120 */
  @ApiProperty({ type: 'integer', minimum: 1 })
  events!: number;
}

export class QuotaAmountDto {
  /** The quota of one UTC day. @example 10000000 */
  @ApiProperty({ type: 'integer', minimum: 1 })
  limit!: number;
  /** The remaining quota of today. @example 9999880 */
  @ApiProperty({ type: 'integer', minimum: 0 })
  left!: number;
}

/** The organization's quota for one UTC day. Changes of groups, group members, webhooks and disputes also count against it. */
export class EventQuotaDto {
  /** The number of events that may be stored. Absent if there is no limit. */
  events?: QuotaAmountDto;
  /** The number of bytes: uncompressed request bodies with events, and the stored events of other changes. Absent if there is no limit. */
  bytes?: QuotaAmountDto;
  /** When the quota resets. @example "2026-03-04T00:00:00.000Z" */
  @ApiProperty({ type: String, format: 'date-time' })
  resetsAt!: string;
}

export class EventUsageDto {
  /**
   * Counts by day, type and outcome. A combination without events has no item. Events of the last second may be missing.
   */
  usage!: DayUsageDto[];
  /** The quota. Absent for a key without an organization, or if neither events nor bytes are limited. */
  quota?: EventQuotaDto;
}
