import { MEASURE } from '../../events/measure.js';
import type { Totals } from './metrics.dto.js';

/** Asset types with a separate total. */
export const NAMED_TYPES = ['URL', 'PAGE', 'TWITTER', 'TELEGRAM'] as const;

/**
 * Creates the totals.
 * @param total returns the count of a measure other than threats
 * @param ofType returns the number of blocked threats of a type
 * @param newThreats the number of blocked threats of all types
 */
export const toTotals = (
  total: (measure: number) => number,
  ofType: (type: (typeof NAMED_TYPES)[number]) => number,
  newThreats: number,
): Totals => {
  const domainThreats = ofType('URL') + ofType('PAGE');
  const twitterThreats = ofType('TWITTER');
  const telegramThreats = ofType('TELEGRAM');
  return {
    reports: total(MEASURE.report),
    newThreats,
    threatsWatchlisted: total(MEASURE.threatWatchlisted),
    takedownsFiled: total(MEASURE.takedownFiled),
    takedownsCompleted: total(MEASURE.takedownCompleted),
    domainThreats,
    twitterThreats,
    telegramThreats,
    otherThreats: newThreats - domainThreats - twitterThreats - telegramThreats,
  };
};
