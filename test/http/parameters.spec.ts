import { describe, expect, it } from '@jest/globals';
import { Invalid } from '../../src/errors.js';
import { EARLIEST, LATEST } from '../../src/events/instant.js';
import { type Range, rangeAt, readRange } from '../../src/http/parameters.js';

const NOW = Date.parse('2026-11-21T12:00:00.000Z');
const iso = (instant: number): string => new Date(instant).toISOString();
const at = (start?: unknown, end?: unknown): Range => rangeAt(readRange(start, end), NOW);
const read = (start?: unknown, end?: unknown): string[] => {
  const { from, to } = at(start, end);
  return [iso(from), iso(to)];
};

describe('A date range', () => {
  it('includes everything without dates, even records in the future', () => {
    expect(at()).toEqual({ from: EARLIEST, to: LATEST, open: 'both' });
  });

  it('states which dates are absent, even if the given dates are the earliest and the latest possible', () => {
    expect(at(undefined, '9999-12-31')).toEqual({ from: EARLIEST, to: LATEST, open: 'start' });
    expect(at('0001-01-01', '9999-12-31')).toEqual({ from: EARLIEST, to: LATEST });
    expect(at('0001-01-01')).toEqual({ from: EARLIEST, to: NOW });
  });

  it('ends now if only a start is given, and begins at the earliest instant if only an end is given', () => {
    expect(read('2026-11-01', undefined)).toEqual(['2026-11-01T00:00:00.000Z', iso(NOW)]);
    expect(read(undefined, '2026-11-01')).toEqual([iso(EARLIEST), '2026-11-01T23:59:59.999Z']);
  });

  it('is empty if it starts in the future and has no end', () => {
    const { from, to } = at('2027-01-01');
    expect(from).toBeGreaterThan(to);
  });

  it.each([
    ['2026-03-01', '2026-03-01', '2026-03-01T00:00:00.000Z', '2026-03-01T23:59:59.999Z'],
    ['2024-02-29', '2024-02-29T12:00Z', '2024-02-29T00:00:00.000Z', '2024-02-29T12:00:00.000Z'],
    ['2026-03-01T10:20', '2026-03-01T10:20:30', '2026-03-01T10:20:00.000Z', '2026-03-01T10:20:30.000Z'],
    ['2026-03-01T10:20:30.1234Z', '2026-03-01T10:20:30.9999', '2026-03-01T10:20:30.123Z', '2026-03-01T10:20:30.999Z'],
    ['2026-03-01T00:00:00+05:30', '2026-03-01T00:00:00-08:00', '2026-02-28T18:30:00.000Z', '2026-03-01T08:00:00.000Z'],
    ['2026-03-01T00:00:00 05:30', '2026-03-02', '2026-02-28T18:30:00.000Z', '2026-03-02T23:59:59.999Z'],
    ['0001-01-01', '9999-12-31', '0001-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z'],
  ])('from %s to %s is %s to %s', (start, end, from, to) => {
    expect(read(start, end)).toEqual([from, to]);
  });

  // instant.spec.ts tests days, times and offsets in detail.
  it.each([
    '2026-02-30',
    '2026-03',
    '2026',
    '20260301',
    '20260301T000000Z',
    '2026-W10-1',
    '2026-060',
    '2026-03-01T24:00:00Z',
    '2026-03-01T10',
    '0000-01-01',
    '+2026-03-01',
    '2026-03-01T00:00:00+0530',
    '2026-03-01T00:00:00+05',
    '2026-03-01 00:00:00',
    '0001-01-01T00:00:00+01:00',
    '9999-12-31T23:59:59-01:00',
    '1767225600000',
    '',
    ' ',
    'now',
    '2026-03-01Z',
    '2026-03-01T',
    20260301,
    null,
    ['2026-03-01', '2026-03-02'],
  ])('is rejected if a date is %j', (value) => {
    for (const dates of [
      [value, undefined],
      [undefined, value],
    ])
      expect(() => readRange(dates[0], dates[1])).toThrow(new Invalid('Invalid date format, use ISO 8601 format'));
  });

  it('is rejected if it starts after its end', () => {
    expect(() => read('2026-03-02', '2026-03-01')).toThrow(Invalid);
    expect(read('2026-03-01T00:00:00.001Z', '2026-03-01T00:00:00.001Z')[0]).toBe('2026-03-01T00:00:00.001Z');
  });
});
