import { ApiProperty } from '@nestjs/swagger';
import { CountedFactDto } from '../counted-fact.dto.js';

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
