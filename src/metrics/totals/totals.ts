import { MEASURE } from '../../events/measure.js';
import type { Totals } from './metrics.dto.js';

/** Types that have a total of their own. */
export const NAMED_TYPES = ['URL', 'PAGE', 'TWITTER', 'TELEGRAM'] as const;

/**
 * @param total of a measure other than threats
 * @param ofType blocked threats of a type
 * @param newThreats of all types
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
