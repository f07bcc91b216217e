import { Invalid } from '../../errors.js';
import { dayOf, EARLIEST, MS_PER_DAY } from '../../events/instant.js';
import type { Range } from '../../http/range.js';

/** What to compare a range with: the one of equal length just before, or the same dates a year earlier. */
export const EARLIER = ['previous', 'year'] as const;
export type Earlier = (typeof EARLIER)[number];

/** The same UTC date and time of the year before; 29 February becomes the 28th. */
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
 * The same dates a year earlier. A window that reaches into a leap day holds the 28th to its end, and so does the
 * earlier one: its end at the leap day's time of day could be before its start.
 */
const sameDates = ({ from, to }: Range): Range => {
  const end = yearBefore(to);
  const isEndOfFebruary = isLeapDay(to) && dayOf(from) < dayOf(to);
  return { from: yearBefore(from), to: isEndOfFebruary ? (dayOf(end) + 1) * MS_PER_DAY - 1 : end };
};

/** @throws Invalid if it would begin before year 1 */
export const earlierRange = (range: Range, earlier: Earlier): Range => {
  const { from, to } = range;
  const length = Math.max(0, to - from + 1);
  const before = earlier === 'year' ? sameDates(range) : { from: from - length, to: from - 1 };
  if (before.from < EARLIEST) throw new Invalid('The earlier window would begin before year 1; use a later startDate');
  return before;
};
