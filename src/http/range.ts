import { Invalid } from '../errors.js';
import { EARLIEST, instantOf, LATEST, MS_PER_DAY } from '../events/instant.js';

/** Inclusive at both ends, in ms. */
export interface Range {
  readonly from: number;
  readonly to: number;
  /** Dates that were not given: `from` is the earliest instant, and without either `to` is the latest. */
  readonly open?: 'start' | 'both';
}

export const INVALID_DATE = 'Invalid date format, use ISO 8601 format';

const DATE = /^(\d{4})-(\d\d)-(\d\d)$/;
// A blank is a plus sign that was not escaped in the query.
const DATE_TIME = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?(?:[Zz]|([+\- ])(\d\d):(\d\d))?$/;

/**
 * The first and last millisecond that an ISO 8601 string names: of the day for a date, of the instant for a date-time.
 * Undefined if it is neither.
 */
const readSpan = (text: string): Range | undefined => {
  const date = DATE.exec(text);
  const m = date ?? DATE_TIME.exec(text);
  const from = m === null ? undefined : instantOf(m);
  return from === undefined ? undefined : { from, to: date === null ? from : from + MS_PER_DAY - 1 };
};

/**
 * Reads a date or date-time of a request.
 * @throws Invalid, with the field's name
 */
export const readDate = (name: string, value: unknown): Range => {
  const span = typeof value === 'string' ? readSpan(value) : undefined;
  if (!span) throw new Invalid(INVALID_DATE, [`${name}: ${INVALID_DATE}`]);
  return span;
};

/** A range as requested. */
export interface AskedRange extends Omit<Range, 'to'> {
  /** Absent: now, at the time of the query. */
  readonly to?: number;
}

/**
 * Reads a request's range. Neither date: everything, including records dated in the future. No start: from the
 * beginning. A start without an end: until now.
 * @throws Invalid for an invalid date, or a start after the end
 */
export const readRange = (startDate: unknown, endDate: unknown): AskedRange => {
  const start = startDate === undefined ? undefined : readDate('startDate', startDate);
  const end = endDate === undefined ? undefined : readDate('endDate', endDate);
  if (start && !end) return { from: start.from };
  if (!end) return { from: EARLIEST, to: LATEST, open: 'both' };
  if (!start) return { from: EARLIEST, to: end.to, open: 'start' };
  if (start.from > end.to) throw new Invalid('startDate must not be after endDate');
  return { from: start.from, to: end.to };
};

/** @param now ms */
export const rangeAt = (range: AskedRange, now: number): Range => ({ ...range, to: range.to ?? now });
