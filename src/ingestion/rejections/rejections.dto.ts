import { ApiProperty } from '@nestjs/swagger';
import { UPSTREAM_TYPES } from '../../events/event.js';
import { Issue } from '../../http/errors/error-body.dto.js';
import { IsGivenOnce, IsOneOf } from '../../http/parameters.js';
import { PageRequest } from '../page.dto.js';
import { REJECT_REASONS, type RejectReason } from './rejection-groups.js';

const TYPES = [...UPSTREAM_TYPES, 'other'];

export class RejectionsRequest extends PageRequest {
  /**
   * Returns only rejections of this UTC day and later days.
   * @example "2026-03-01"
   */
  @IsGivenOnce()
  @ApiProperty({ type: String, format: 'date', required: false })
  from?: string;

  /** Returns only rejections for this reason. */
  @IsOneOf(REJECT_REASONS)
  reason?: RejectReason;

  /** Returns only events of this type. `other` stands for every type that upstream may not send. */
  @IsOneOf(TYPES)
  type?: string;
}

/** The first of the rejected events, as sent, but truncated. */
export class RejectedSampleDto {
  /** @example "threat-5512:approved" */
  @ApiProperty({ type: String, nullable: true })
  id!: string | null;
  /** @example "https://upstream.example" */
  source!: string;
  /** @example "ThreatStatusChanged" */
  type!: string;
  /** The data as JSON, truncated after 2 KiB. Truncated data is not valid JSON. */
  @ApiProperty({ type: String, nullable: true, example: '{"organization":"acme","threatId":"threat-5512"}' })
  data!: string | null;
  /** The problems found in the event, at most 10. */
  issues!: Issue[];
}

/** Events of one UTC day, key, reason and type. */
export class RejectedEventsDto {
  /** @example "2026-03-01" */
  @ApiProperty({ type: String, format: 'date' })
  day!: string;
  /** The id of the key that sent the events. @example "key_8f2c4d6e8a0b1c2d" */
  keyId!: string;
  /**
   * `attributes`: a CloudEvents attribute is missing or invalid, or the event cannot be parsed. `data`: the data does not
   * match the schema of the type. `unknown-type`: the type does not exist. `own-type`: the type is reserved for the
   * service. `not-permitted`: this key may not send the event. `erased`: the organization of the event was erased.
   */
  @ApiProperty({ enum: REJECT_REASONS, example: 'data' })
  reason!: RejectReason;
  /** The event type. `other` stands for every type that upstream may not send. @example "ThreatStatusChanged" */
  type!: string;
  /** @example 3 */
  @ApiProperty({ type: 'integer', minimum: 1 })
  count!: number;
  /** When the last of these events arrived. @example "2026-03-01T12:00:00.000Z" */
  @ApiProperty({ type: String, format: 'date-time' })
  lastAt!: string;
  sample!: RejectedSampleDto;
}

export class RejectionPageDto {
  /**
   * The rejections, newest day first. Rejections of the last second may be missing. If there are more than 10,000 rows in
   * total, the oldest days are dropped.
   */
  items!: RejectedEventsDto[];
  /** The cursor of the next page. Absent on the last page. */
  nextCursor?: string;
}
