import { ApiProperty } from '@nestjs/swagger';
import { UPSTREAM_TYPES } from '../../events/event.js';
import { Issue } from '../../http/errors/error-body.dto.js';
import { IsGivenOnce, IsOneOf } from '../../http/parameters.js';
import { PageRequest } from '../page.dto.js';
import { REJECT_REASONS, type RejectReason } from './refusals.js';

const TYPES = [...UPSTREAM_TYPES, 'other'];

export class RejectionsRequest extends PageRequest {
  /**
   * Only of this UTC day and later ones.
   * @example "2026-03-01"
   */
  @IsGivenOnce()
  @ApiProperty({ type: String, format: 'date', required: false })
  from?: string;

  /** Only rejections for this reason. */
  @IsOneOf(REJECT_REASONS)
  reason?: RejectReason;

  /** Only events of this type; `other`: of none that upstream may send. */
  @IsOneOf(TYPES)
  type?: string;
}

/** The first of the rejected events, as it was sent, cut. */
export class RejectedSampleDto {
  /** @example "threat-5512:approved" */
  @ApiProperty({ type: String, nullable: true })
  id!: string | null;
  /** @example "https://upstream.example" */
  source!: string;
  /** @example "ThreatStatusChanged" */
  type!: string;
  /** JSON, at most 2 KiB of it; cut, it is JSON no longer. */
  @ApiProperty({ type: String, nullable: true })
  data!: string | null;
  /** Every problem found in it, up to 10. */
  issues!: Issue[];
}

/** Events of one UTC day, key, reason and type. */
export class RejectedEventsDto {
  /** @example "2026-03-01" */
  @ApiProperty({ type: String, format: 'date' })
  day!: string;
  /** The key that sent them. @example "key_8f2c4d6e8a0b1c2d" */
  keyId!: string;
  /**
   * `attributes`: one of CloudEvents is missing or invalid, or the event cannot be read. `data`: it is not as the type
   * demands. `unknown-type`, `own-type`: there is no such type, or it is the service's own. `not-permitted`: not for this
   * key.
   */
  @ApiProperty({ enum: REJECT_REASONS, example: 'data' })
  reason!: RejectReason;
  /** The event type; `other`: none that upstream may send. @example "ThreatStatusChanged" */
  type!: string;
  /** @example 3 */
  @ApiProperty({ type: 'integer', minimum: 1 })
  count!: number;
  /** When the last of them came. @example "2026-03-01T12:00:00.000Z" */
  @ApiProperty({ type: String, format: 'date-time' })
  lastAt!: string;
  sample!: RejectedSampleDto;
}

export class RejectionPageDto {
  /** The newest day first. The last second may be missing, and the oldest days are dropped after 10,000 rows of all. */
  items!: RejectedEventsDto[];
  /** The cursor of the next page; absent on the last. */
  nextCursor?: string;
}
