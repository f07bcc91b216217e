import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { IsIn, IsNotEmpty, IsOptional, IsString, Matches } from 'class-validator';
import { Invalid } from '../errors.js';
import { EARLIEST, instantOf, LATEST, MS_PER_DAY } from '../events/instant.js';

// Optional query parameters. A parameter is a string, or an array if the client has sent it twice.

const UP_TO = { 100: /^(?:[1-9]\d?|100)$/, 1000: /^(?:[1-9]\d{0,2}|1000)$/ } as const;

/** The maximum number of items in a response: a whole number from 1 to `maximum`. */
export const IsLimit = (maximum: keyof typeof UP_TO, defaultValue: number): PropertyDecorator =>
  applyDecorators(
    IsOptional(),
    Matches(UP_TO[maximum], { message: `limit must be a whole number from 1 to ${maximum}` }),
    ApiProperty({
      type: 'integer',
      minimum: 1,
      maximum,
      pattern: UP_TO[maximum].source,
      default: defaultValue,
      required: false,
    }),
  );

/** An opaque text from an earlier response, such as a cursor. */
export const IsOpaqueText = (message: string): PropertyDecorator =>
  applyDecorators(IsOptional(), IsString({ message }), IsNotEmpty({ message }));

/** A date that `readDate` reads, with an error that names the field. */
export const IsDateText = (): PropertyDecorator => IsOptional();

export const IsGivenOnce = (): PropertyDecorator =>
  applyDecorators(IsOptional(), IsString({ message: '$property must be given once' }));

export const IsBrandSlug = (): PropertyDecorator =>
  applyDecorators(IsGivenOnce(), IsNotEmpty({ message: '$property must not be empty' }));

export const IsOneOf = (values: readonly string[], defaultValue?: string): PropertyDecorator =>
  applyDecorators(
    IsOptional(),
    IsIn(values, { message: `$property must be one of ${values.join(', ')}` }),
    ApiProperty({ enum: [...values], default: defaultValue, required: false }),
  );

/** A range of time in ms, inclusive at both ends. */
export interface Range {
  readonly from: number;
  readonly to: number;
  /**
   * Which dates were absent. `start`: the start date was absent, so `from` is the earliest instant. `both`: the end
   * date was absent too, so `to` is the latest instant.
   */
  readonly open?: 'start' | 'both';
}

const INVALID_DATE = 'Invalid date format, use ISO 8601 format';

const DATE = /^(\d{4})-(\d\d)-(\d\d)$/;
// A space is a plus sign that the client did not escape in the query.
const DATE_TIME = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?(?:[Zz]|([+\- ])(\d\d):(\d\d))?$/;

/**
 * Returns the first and the last millisecond of an ISO 8601 date, or the instant of a date-time as both. Undefined if
 * the string is neither a date nor a date-time.
 */
const readSpan = (text: string): Range | undefined => {
  const date = DATE.exec(text);
  const m = date ?? DATE_TIME.exec(text);
  const from = m === null ? undefined : instantOf(m);
  return from === undefined ? undefined : { from, to: date === null ? from : from + MS_PER_DAY - 1 };
};

const ZONED = /[Tt].*(?:[Zz]|[+\- ]\d\d:\d\d)$/;

/** Reads a date-time with a zone, in ms. Undefined if the text is anything else. */
export const readInstant = (text: string): number | undefined => (ZONED.test(text) ? readSpan(text)?.from : undefined);

/**
 * Reads a date or date-time of a request.
 * @throws Invalid, with the name of the field
 */
export const readDate = (name: string, value: unknown): Range => {
  const span = typeof value === 'string' ? readSpan(value) : undefined;
  if (!span) throw new Invalid(INVALID_DATE, [`${name}: ${INVALID_DATE}`]);
  return span;
};

/** A range as requested. */
export interface RequestedRange extends Omit<Range, 'to'> {
  /** Undefined: the time of the query. */
  readonly to?: number;
}

/**
 * Reads the range of a request. Without dates, the range is everything, including records dated in the future. Without a
 * start, the range begins at the earliest instant. With a start and no end, the range ends now.
 * @throws Invalid if a date is invalid, or the start is after the end
 */
export const readRange = (startDate: unknown, endDate: unknown): RequestedRange => {
  const start = startDate === undefined ? undefined : readDate('startDate', startDate);
  const end = endDate === undefined ? undefined : readDate('endDate', endDate);
  if (start && !end) return { from: start.from };
  if (!end) return { from: EARLIEST, to: LATEST, open: 'both' };
  if (!start) return { from: EARLIEST, to: end.to, open: 'start' };
  if (start.from > end.to) throw new Invalid('startDate must not be after endDate');
  return { from: start.from, to: end.to };
};

/** Ends a range that has no end at the time `now`. @param now ms */
export const rangeAt = (range: RequestedRange, now: number): Range => ({ ...range, to: range.to ?? now });
