import { ApiProperty } from '@nestjs/swagger';
import { IsGivenOnce } from '../../http/parameters.js';
import { type Outcome, OUTCOMES } from '../../read-models/event-usage.js';

export class EventUsageRequest {
  /**
   * The first UTC day. Default, and at most: 89 days ago.
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
   * The event type; `other`: none that upstream may send.
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
  /** A UTC day's. @example 10000000 */
  @ApiProperty({ type: 'integer', minimum: 1 })
  limit!: number;
  /** What is left of today's. @example 9999880 */
  @ApiProperty({ type: 'integer', minimum: 0 })
  left!: number;
}

/** The organization's quota of the UTC day, which changes of its groups use too. */
export class EventQuotaDto {
  /** Events that may be stored; absent: no limit. */
  events?: QuotaAmountDto;
  /** Bytes of bodies, unpacked; absent: no limit. */
  bytes?: QuotaAmountDto;
  /** When it begins again. @example "2026-03-04T00:00:00.000Z" */
  @ApiProperty({ type: String, format: 'date-time' })
  resetsAt!: string;
}

export class EventUsageDto {
  /** By day, type and outcome; where nothing was sent there is no item. The last second may be missing. */
  usage!: DayUsageDto[];
  /** Absent for a key without an organization, and where nothing is limited. */
  quota?: EventQuotaDto;
}
