import { describe, expect, it } from '@jest/globals';
import { Invalid } from '../../src/errors.js';
import { EARLIEST, LATEST } from '../../src/events/instant.js';
import { type Range, rangeAt, readRange } from '../../src/http/range.js';

const NOW = Date.parse('2026-11-21T12:00:00.000Z');
const iso = (instant: number): string => new Date(instant).toISOString();
const at = (start?: unknown, end?: unknown): Range => rangeAt(readRange(start, end), NOW);
const read = (start?: unknown, end?: unknown): string[] => {
  const { from, to } = at(start, end);
  return [iso(from), iso(to)];
};

describe('a range', () => {
  it('is everything without dates, records of the future included', () => {
    expect(at()).toEqual({ from: EARLIEST, to: LATEST, open: 'both' });
  });

  it('says which dates were not given, even if the others are the first and the last possible', () => {
    expect(at(undefined, '9999-12-31')).toEqual({ from: EARLIEST, to: LATEST, open: 'start' });
    expect(at('0001-01-01', '9999-12-31')).toEqual({ from: EARLIEST, to: LATEST });
    expect(at('0001-01-01')).toEqual({ from: EARLIEST, to: NOW });
  });

  it('ends now if only a start is given, and begins with time itself if only an end is', () => {
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
  ])('%s to %s is %s to %s', (start, end, from, to) => {
    expect(read(start, end)).toEqual([from, to]);
  });

  // Which days, times and offsets there are, instant.spec.ts says.
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
  ])('%j is no date', (value) => {
    for (const dates of [
      [value, undefined],
      [undefined, value],
    ])
      expect(() => readRange(dates[0], dates[1])).toThrow(new Invalid('Invalid date format, use ISO 8601 format'));
  });

  it('does not start after a given end', () => {
    expect(() => read('2026-03-02', '2026-03-01')).toThrow(Invalid);
    expect(read('2026-03-01T00:00:00.001Z', '2026-03-01T00:00:00.001Z')[0]).toBe('2026-03-01T00:00:00.001Z');
  });
});
