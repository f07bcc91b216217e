import { ApiProperty } from '@nestjs/swagger';
import { IsOptional, Matches } from 'class-validator';
import { TriedEventDto } from '../dry-run/dry-run.dto.js';
import { Issue, RejectionDto } from '../../http/errors/error-body.dto.js';

export class SendEventsRequest {
  /**
   * With `true` nothing is stored and no quota is charged: the answer is what the same request would be answered now,
   * and `events` says what each event would count as. Default: `false`.
   */
  @IsOptional()
  @Matches(/^(?:true|false)$/, { message: 'dryRun must be true or false' })
  @ApiProperty({ enum: ['true', 'false'], default: 'false', required: false })
  dryRun?: string;
}

/** One event that was taken as it is, though it looks like a mistake. */
export class EventWarningDto {
  /** Its index in the request, from 0. */
  @ApiProperty({ type: 'integer', minimum: 0, example: 0 })
  index!: number;
  /** Its id. */
  id?: string;
  /** Everything that looks wrong in it. */
  issues!: Issue[];
}

/** `accepted`, `duplicates` and `rejected` add up to the number of events sent. */
export class RecordedEventsDto {
  /** Stored on disk by this request. */
  accepted!: number;
  /** Already stored; nothing was changed. */
  duplicates!: number;
  /** Rejected; the other events of the batch are kept. */
  rejected!: RejectionDto[];
  /** Accepted events and duplicates that look like a mistake; absent if none does. */
  warnings?: EventWarningDto[];
  /** Of `dryRun=true` alone: each event that would be accepted, in order. */
  events?: TriedEventDto[];
}
