import { ApiProperty } from '@nestjs/swagger';
import type { Fact } from '../events/facts.js';
import { dayOf, formatDay } from '../events/instant.js';
import { MEASURE } from '../events/measure.js';

/** What a number of the metrics is called in their answers. */
const NAMES = {
  [MEASURE.report]: 'reports',
  [MEASURE.threat]: 'newThreats',
  [MEASURE.threatWatchlisted]: 'threatsWatchlisted',
  [MEASURE.takedownFiled]: 'takedownsFiled',
  [MEASURE.takedownCompleted]: 'takedownsCompleted',
} as const;
const COUNTED_MEASURES = Object.values(NAMES);

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

export const countedFact = ([organization, brand, at, measure, type]: Fact): CountedFactDto => ({
  organization,
  ...(brand !== '' && { brand }),
  measure: NAMES[measure as keyof typeof NAMES],
  day: formatDay(dayOf(at)),
  ...(type !== '' && { type }),
});
