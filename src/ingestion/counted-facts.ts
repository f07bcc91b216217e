import { dayOf, formatDay } from '../events/instant.js';
import type { Fact } from '../events/facts.js';
import { MEASURE } from '../events/measure.js';
import type { CountedFactDto } from './counted-fact.dto.js';

/** What a number of the metrics is called in their answers. */
const NAMES = {
  [MEASURE.report]: 'reports',
  [MEASURE.threat]: 'newThreats',
  [MEASURE.threatWatchlisted]: 'threatsWatchlisted',
  [MEASURE.takedownFiled]: 'takedownsFiled',
  [MEASURE.takedownCompleted]: 'takedownsCompleted',
} as const;
export const COUNTED_MEASURES = Object.values(NAMES);

/** A fact as answers show it: one more in this metric of this day. */
export const countedFact = ([organization, brand, at, measure, type]: Fact): CountedFactDto => ({
  organization,
  ...(brand !== '' && { brand }),
  measure: NAMES[measure as keyof typeof NAMES],
  day: formatDay(dayOf(at)),
  ...(type !== '' && { type }),
});
