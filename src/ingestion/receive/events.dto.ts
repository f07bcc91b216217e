import { ApiProperty } from '@nestjs/swagger';
import { IsOptional, Matches } from 'class-validator';
import { TriedEventDto } from '../dry-run/dry-run.dto.js';
import { Issue, RejectionDto } from '../../http/errors/error-body.dto.js';

export class SendEventsRequest {
  /**
   * If `true`, nothing is stored and no quota is charged. The response is the same as without `dryRun`, and also
   * lists in `events` the metrics that each accepted event would change. Default: `false`.
   */
  @IsOptional()
  @Matches(/^(?:true|false)$/, { message: 'dryRun must be true or false' })
  @ApiProperty({ enum: ['true', 'false'], default: 'false', required: false })
  dryRun?: string;
}

/** An event that was accepted unchanged but looks like a mistake. */
export class EventWarningDto {
  /** The index of the event in the request, from 0. */
  @ApiProperty({ type: 'integer', minimum: 0, example: 0 })
  index!: number;
  /** The id of the event. */
  id?: string;
  /** Everything that looks wrong in the event. */
  issues!: Issue[];
}

/** `accepted`, `duplicates` and `rejected` add up to the number of events sent. */
export class RecordedEventsDto {
  /** Events that this request stored on disk. @example 1 */
  accepted!: number;
  /** Events that were already stored. Nothing was changed. @example 0 */
  duplicates!: number;
  /** Rejected events. The other events of the batch are stored. @example [] */
  rejected!: RejectionDto[];
  /** Accepted events and duplicates that look like a mistake. Absent if there are no such events. */
  warnings?: EventWarningDto[];
  /** Present only with `dryRun=true`: each event that would be accepted, in order. */
  events?: TriedEventDto[];
}
