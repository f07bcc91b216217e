import { Invalid } from '../errors.js';
import { EARLIEST } from '../events/instant.js';
import type { Range } from './range.js';

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

/** @throws Invalid if it would begin before year 1 */
export const earlierRange = ({ from, to }: Range, earlier: Earlier): Range => {
  const length = Math.max(0, to - from + 1);
  const range =
    earlier === 'year' ? { from: yearBefore(from), to: yearBefore(to) } : { from: from - length, to: from - 1 };
  if (range.from < EARLIEST) throw new Invalid('The earlier window would begin before year 1; use a later startDate');
  return range;
};
