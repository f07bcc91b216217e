import { ApiProperty } from '@nestjs/swagger';
import { IsOptional, Matches } from 'class-validator';
import { type Fact, MEASURE } from '../../events/facts.js';
import { dayOf, formatDay } from '../../events/instant.js';
import { Issue, RejectionDto } from '../../http/errors/error-body.dto.js';

/** The name of each measure in the responses of the metrics. */
const NAMES = {
  [MEASURE.report]: 'reports',
  [MEASURE.threat]: 'newThreats',
  [MEASURE.threatWatchlisted]: 'threatsWatchlisted',
  [MEASURE.takedownFiled]: 'takedownsFiled',
  [MEASURE.takedownCompleted]: 'takedownsCompleted',
} as const;
const COUNTED_MEASURES = Object.values(NAMES);

/** One count in a metric. */
export class CountedFactDto {
  /** @example "acme" */
  organization!: string;
  /** The brand. Absent if the count is for the organization as a whole. */
  brand?: string;
  /**
   * The name of the metric. A threat that counts in `newThreats` also counts in the total of its asset type, such as
   * `domainThreats`.
   */
  @ApiProperty({ enum: COUNTED_MEASURES, example: 'newThreats' })
  measure!: (typeof COUNTED_MEASURES)[number];
  /**
   * The UTC day on which the record is counted.
   * @example "2026-03-01"
   */
  @ApiProperty({ type: String, format: 'date' })
  day!: string;
  /**
   * The asset type. Present only for a threat.
   * @example "URL"
   */
  type?: string;
}

export const countedFact = ([organization, brand, at, measure, type]: Fact): CountedFactDto => ({
  organization,
  ...(brand !== '' && { brand }),
  measure: NAMES[measure as keyof typeof NAMES],
  day: formatDay(dayOf(at)),
  ...(type !== '' && { type }),
});

/** The metrics that an accepted event would change. Events earlier in the request are taken into account. */
export class TriedEventDto {
  /** The index of the event in the request, from 0. */
  @ApiProperty({ type: 'integer', minimum: 0, example: 0 })
  index!: number;
  /** The id of the event. */
  id!: string;
  /**
   * The metrics that would increase by one. Empty if the event counts in no metric, or if its record is already counted
   * in the same way.
   */
  wouldCount!: CountedFactDto[];
  /** The metrics that would decrease by one, because the record now counts differently. Absent if no metric would decrease. */
  wouldNoLongerCount?: CountedFactDto[];
  /** True if the record already has a later state, so that the event would change nothing. Otherwise absent. */
  @ApiProperty({ enum: [true], type: Boolean, required: false })
  superseded?: true;
}

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
