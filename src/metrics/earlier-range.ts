import { Invalid } from '../errors.js';
import { dayOf, EARLIEST, MS_PER_DAY } from '../events/instant.js';
import type { Range } from '../http/parameters.js';

/**
 * The range to compare with: the range of equal length just before the requested range, or the same dates a year
 * earlier.
 */
export const COMPARISON_WINDOWS = ['previous', 'year'] as const;
export type ComparisonWindow = (typeof COMPARISON_WINDOWS)[number];

/** Returns the same UTC date and time one year earlier; 29 February becomes 28 February. */
const yearBefore = (instant: number): number => {
  const date = new Date(instant);
  const month = date.getUTCMonth();
  date.setUTCFullYear(date.getUTCFullYear() - 1);
  if (date.getUTCMonth() !== month) date.setUTCDate(0);
  return date.getTime();
};

const isLeapDay = (instant: number): boolean => {
  const date = new Date(instant);
  return date.getUTCMonth() === 1 && date.getUTCDate() === 29;
};

/**
 * Returns the same dates a year earlier. If the range ends on 29 February, the earlier range includes all of 28
 * February. Otherwise the earlier range could end before its start.
 */
const sameDates = ({ from, to }: Range): Range => {
  const end = yearBefore(to);
  const isEndOfFebruary = isLeapDay(to) && dayOf(from) < dayOf(to);
  return { from: yearBefore(from), to: isEndOfFebruary ? (dayOf(end) + 1) * MS_PER_DAY - 1 : end };
};

/** @throws Invalid if the earlier range would begin before year 1 */
export const earlierRange = (range: Range, earlier: ComparisonWindow): Range => {
  const { from, to } = range;
  const length = Math.max(0, to - from + 1);
  const before = earlier === 'year' ? sameDates(range) : { from: from - length, to: from - 1 };
  if (before.from < EARLIEST)
    throw new Invalid('startDate must be later, because the earlier range would begin before year 1');
  return before;
};
