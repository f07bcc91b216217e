/** Instants are integer milliseconds since 1970-01-01T00:00:00Z; days are whole UTC days since then. */

export const MS_PER_SECOND = 1_000;
export const MS_PER_HOUR = 3_600_000;
export const MS_PER_DAY = 86_400_000;

/** The Gregorian calendar repeats after this many years. */
const YEARS_PER_ERA = 400;
const DAYS_PER_ERA = 146_097;

/** 0001-01-01T00:00:00.000Z */
export const EARLIEST = -62_135_596_800_000;
/** 9999-12-31T23:59:59.999Z */
export const LATEST = 253_402_300_799_999;

export const dayOf = (instant: number): number => Math.floor(instant / MS_PER_DAY);

/** `dayOf` as an SQL expression. @param instant an SQL expression, in ms */
export const dayInSql = (instant: string): string => `floor(${instant} / ${MS_PER_DAY}.0)::int`;

/**
 * Converts a match of a date-time pattern to an instant, truncated to milliseconds.
 * @param m groups: year, month, day, hour, minute, second, fraction, then sign, hours and minutes of the offset. Groups
 *   after the day may be missing and then count as 0
 * @returns undefined if the date or time does not exist (`2026-02-30`, hour 24, second 60, `+01:60`), or if the year is
 *   not from 1 to 9999
 */
export const instantOf = (m: RegExpExecArray): number | undefined => {
  const part = (n: number): number => Number(m[n] ?? 0);
  const [month, day, hours, minutes, seconds] = [part(2), part(3), part(4), part(5), part(6)];
  const [offsetHours, offsetMinutes] = [part(9), part(10)];
  if (month < 1 || month > 12 || day < 1 || hours > 23 || minutes > 59 || seconds > 59) return undefined;
  if (offsetHours > 23 || offsetMinutes > 59) return undefined;
  // `Date.UTC` interprets the years 0 to 99 as 1900 to 1999, so 400 years are added and subtracted.
  const midnight = Date.UTC(part(1) + YEARS_PER_ERA, month - 1, day) - DAYS_PER_ERA * MS_PER_DAY;
  if (day > 28 && new Date(midnight).getUTCDate() !== day) return undefined;
  const offset = (m[8] === '-' ? -1 : 1) * (offsetHours * 60 + offsetMinutes);
  const ms = m[7] === undefined ? 0 : Number(m[7].slice(0, 3).padEnd(3, '0'));
  const instant = midnight + ((hours * 60 + minutes - offset) * 60 + seconds) * 1000 + ms;
  return instant >= EARLIEST && instant <= LATEST ? instant : undefined;
};

const RFC_3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))$/;

/**
 * JSON Schema pattern for instants from 1970 on. The pattern accepts the same texts as `parseInstant`, with two
 * exceptions: it does not check the days of a month, which the format `date-time` checks, or offsets that move the
 * instant before 1970.
 */
export const INSTANT_PATTERN =
  '^(19[7-9][0-9]|[2-9][0-9]{3})-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])' +
  '[Tt]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]+)?([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$';

/** Parses RFC 3339 with an offset, truncated to milliseconds; undefined if invalid or outside the years 1 to 9999. */
export const parseInstant = (text: string): number | undefined => {
  const m = RFC_3339.exec(text);
  return m === null ? undefined : instantOf(m);
};

const padded = (n: number): string => (n < 10 ? `0${n}` : `${n}`);

/**
 * Formats an instant as `YYYY-MM-DDTHH:mm:ss.sssZ`. Does not use `Date`, which takes several times as long: a page of
 * the feed has 3,000 instants.
 * @throws RangeError if `instant` is not an integer in the range of `Date`
 */
export const formatInstant = (instant: number): string => {
  if (!Number.isInteger(instant) || instant < EARLIEST || instant > LATEST) return new Date(instant).toISOString();
  const day = dayOf(instant);
  const ms = instant - day * MS_PER_DAY;
  const seconds = Math.trunc(ms / 1000);
  const minutes = Math.trunc(seconds / 60);
  const time = `${padded(Math.trunc(minutes / 60))}:${padded(minutes % 60)}:${padded(seconds % 60)}`;
  const fraction = 1000 + (ms % 1000);
  return `${formatDay(day)}T${time}.${String(fraction).slice(1)}Z`;
};

/**
 * Formats a day number as `YYYY-MM-DD`, for the years 1 to 9999. Does not use `Date`, which takes ten times as long.
 * The computation uses years that begin in March, so that the leap day is the last day.
 */
export const formatDay = (day: number): string => {
  const sinceMarchOfYear0 = day + 719_468;
  const era = Math.floor(sinceMarchOfYear0 / DAYS_PER_ERA);
  const dayOfEra = sinceMarchOfYear0 - era * DAYS_PER_ERA;
  const leapDays = Math.trunc(dayOfEra / 1_460) - Math.trunc(dayOfEra / 36_524) + Math.trunc(dayOfEra / 146_096);
  const yearOfEra = Math.trunc((dayOfEra - leapDays) / 365);
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.trunc(yearOfEra / 4) - Math.trunc(yearOfEra / 100));
  const monthFromMarch = Math.trunc((5 * dayOfYear + 2) / 153);
  const dayOfMonth = dayOfYear - Math.trunc((153 * monthFromMarch + 2) / 5) + 1;
  const month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9;
  const year = yearOfEra + era * YEARS_PER_ERA + (month <= 2 ? 1 : 0);
  return `${String(year).padStart(4, '0')}-${padded(month)}-${padded(dayOfMonth)}`;
};
