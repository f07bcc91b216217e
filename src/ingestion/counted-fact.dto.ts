import { ApiProperty } from '@nestjs/swagger';
import type { Fact } from '../events/facts.js';
import { dayOf, formatDay } from '../events/instant.js';
import { MEASURE } from '../events/measure.js';

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
