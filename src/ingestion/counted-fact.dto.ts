import { ApiProperty } from '@nestjs/swagger';
import { COUNTED_MEASURES } from './counted-facts.js';

/** One in a metric. */
export class CountedFactDto {
  /** @example "acme" */
  organization!: string;
  /** The brand; absent: the organization as a whole. */
  brand?: string;
  /** As the metrics name it; `newThreats` of a type are also in the total of their type. */
  @ApiProperty({ enum: COUNTED_MEASURES, example: 'newThreats' })
  measure!: (typeof COUNTED_MEASURES)[number];
  /**
   * The UTC day that it is counted on.
   * @example "2026-03-01"
   */
  @ApiProperty({ type: String, format: 'date' })
  day!: string;
  /**
   * The asset type, of a threat.
   * @example "URL"
   */
  type?: string;
}
