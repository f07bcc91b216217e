import { describe, expect, it } from '@jest/globals';
import { dayOf, EARLIEST, formatDay, formatInstant, LATEST, parseInstant } from '../../src/events/instant.js';

describe('An instant', () => {
  it.each([
    ['2026-03-01T12:34:56.789Z', '2026-03-01T12:34:56.789Z'],
    ['2026-03-01T12:34:56Z', '2026-03-01T12:34:56.000Z'],
    ['2026-03-01t12:34:56.7z', '2026-03-01T12:34:56.700Z'],
    ['2026-03-01T12:34:56.7899999+05:30', '2026-03-01T07:04:56.789Z'],
    ['2024-02-29T23:59:59.999-00:30', '2024-03-01T00:29:59.999Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
    ['9999-12-31T23:59:59.999999Z', '9999-12-31T23:59:59.999Z'],
    ['0099-06-01T00:00:00Z', '0099-06-01T00:00:00.000Z'],
  ])('written as %s is parsed as %s', (text, instant) => {
    expect(formatInstant(parseInstant(text)!)).toBe(instant);
  });

  it('is formatted as by Date in every year', () => {
    for (let n = 0; n <= 100_000; n += 1) {
      const instant = Math.round(EARLIEST + ((LATEST - EARLIEST) * n) / 100_000);
      if (formatInstant(instant) !== new Date(instant).toISOString())
        expect(formatInstant(instant)).toBe(new Date(instant).toISOString());
    }
    expect(() => formatInstant(Number.NaN)).toThrow(RangeError);
  });

  it.each([
    '2026-02-30T00:00:00Z',
    '2025-02-29T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-00-01T00:00:00Z',
    '2026-01-00T00:00:00Z',
    '2026-01-01T24:00:00Z',
    '2026-01-01T23:60:00Z',
    '2026-01-01T23:59:60Z',
    '2026-01-01T00:00:00',
    '2026-01-01T00:00Z',
    '2026-01-01 00:00:00Z',
    '2026-01-01T00:00:00+24:00',
    '2026-01-01T00:00:00+01:60',
    '2026-01-01T00:00:00+0100',
    '0000-01-01T00:00:00Z',
    '0001-01-01T00:00:00+01:00',
    '9999-12-31T23:59:59-01:00',
    '12026-01-01T00:00:00Z',
    '2026-01-01T00:00:00.Z',
    ' 2026-01-01T00:00:00Z',
    '',
  ])('is not parsed from the invalid text %j', (text) => {
    expect(parseInstant(text)).toBeUndefined();
  });

  it('is on the correct day, also before 1970', () => {
    expect(formatDay(dayOf(-1))).toBe('1969-12-31');
    expect(formatDay(dayOf(0))).toBe('1970-01-01');
    expect(formatDay(dayOf(EARLIEST))).toBe('0001-01-01');
    expect(formatDay(dayOf(LATEST))).toBe('9999-12-31');
  });

  it('has a day that is formatted as by Date, for every day of 400 years and days of all years', () => {
    const wrong: number[] = [];
    const compare = (day: number): void => {
      if (formatDay(day) !== new Date(day * 86_400_000).toISOString().slice(0, 10)) wrong.push(day);
    };
    for (let day = -73_000; day < 73_100; day += 1) compare(day);
    for (let day = dayOf(EARLIEST); day <= dayOf(LATEST); day += 89) compare(day);
    expect(wrong).toEqual([]);
  });
});
