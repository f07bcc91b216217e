import { ApiProperty } from '@nestjs/swagger';
import { CountedFactDto } from '../counted-fact.dto.js';

/** What an event that would be accepted would change in the metrics, after those before it in the request. */
export class TriedEventDto {
  /** Its index in the request, from 0. */
  @ApiProperty({ type: 'integer', minimum: 0, example: 0 })
  index!: number;
  /** Its id. */
  id!: string;
  /** The metrics that would gain one. Empty: it counts as nothing, or its record counts as this already. */
  wouldCount!: CountedFactDto[];
  /** The metrics that would lose one, because the record counts otherwise now; absent if none would. */
  wouldNoLongerCount?: CountedFactDto[];
  /** Its record has a later state already, so that it would change nothing; absent otherwise. */
  @ApiProperty({ enum: [true], type: Boolean, required: false })
  superseded?: true;
}
