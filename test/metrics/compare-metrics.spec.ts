import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Invalid } from '../../src/errors.js';
import { EARLIEST, LATEST, MS_PER_DAY } from '../../src/events/instant.js';
import { earlierRange } from '../../src/metrics/compare-metrics.js';
import type { ComparisonWindow } from '../../src/metrics/comparison.dto.js';

const at = (text: string): number => Date.parse(text);
const earlier = (from: string, to: string, comparison: ComparisonWindow): string[] => {
  const range = earlierRange({ from: at(from), to: at(to) }, comparison);
  return [new Date(range.from).toISOString(), new Date(range.to).toISOString()];
};

describe('The previous range', () => {
  it('has the same length to the millisecond, and ends where the range begins', () => {
    expect(earlier('2026-03-01T00:00:00.000Z', '2026-03-31T23:59:59.999Z', 'previous')).toEqual([
      '2026-01-29T00:00:00.000Z',
      '2026-02-28T23:59:59.999Z',
    ]);
    expect(earlier('2026-03-01T12:00:00.001Z', '2026-03-01T12:00:00.001Z', 'previous')).toEqual([
      '2026-03-01T12:00:00.000Z',
      '2026-03-01T12:00:00.000Z',
    ]);
  });

  it('is empty if the range is empty', () => {
    const { from, to } = earlierRange({ from: 1_000, to: 5 }, 'previous');
    expect(to).toBe(from - 1);
  });

  it('is rejected if it would begin before year 1', () => {
    for (const range of [
      { from: EARLIEST, to: EARLIEST },
      { from: 0, to: LATEST },
    ])
      expect(() => earlierRange(range, 'previous')).toThrow(Invalid);
    expect(() => earlierRange({ from: EARLIEST, to: LATEST }, 'year')).toThrow(Invalid);
  });
});

describe('The range a year earlier', () => {
  it.each([
    ['2026-03-01T00:00:00.000Z', '2026-03-31T23:59:59.999Z', '2025-03-01T00:00:00.000Z', '2025-03-31T23:59:59.999Z'],
    ['2024-02-29T00:00:00.000Z', '2024-02-29T23:59:59.999Z', '2023-02-28T00:00:00.000Z', '2023-02-28T23:59:59.999Z'],
    ['2025-02-28T12:30:00.000Z', '2025-03-01T00:00:00.000Z', '2024-02-28T12:30:00.000Z', '2024-03-01T00:00:00.000Z'],
    ['2024-02-28T12:00:00.000Z', '2024-02-29T06:00:00.000Z', '2023-02-28T12:00:00.000Z', '2023-02-28T23:59:59.999Z'],
    ['2024-02-29T06:00:00.000Z', '2024-02-29T12:00:00.000Z', '2023-02-28T06:00:00.000Z', '2023-02-28T12:00:00.000Z'],
    ['2000-02-29T10:00:00.000Z', '2000-12-31T23:59:59.999Z', '1999-02-28T10:00:00.000Z', '1999-12-31T23:59:59.999Z'],
  ])('of %s to %s has the same dates, with 28 February instead of the leap day', (from, to, start, end) => {
    expect(earlier(from, to, 'year')).toEqual([start, end]);
  });
});

describe('An earlier range', () => {
  // Two thirds of the instants are within three days of the end of February.
  const instant = fc
    .record({
      year: fc.integer({ min: 10, max: 9_998 }),
      day: fc.oneof(fc.integer({ min: 57, max: 60 }), fc.integer({ min: 57, max: 60 }), fc.nat({ max: 365 })),
      ms: fc.integer({ min: 0, max: MS_PER_DAY - 1 }),
    })
    .map(({ year, day, ms }) => new Date(0).setUTCFullYear(year, 0, day) + ms);
  const window = fc
    .tuple(instant, fc.oneof(fc.integer({ min: 0, max: 3 * MS_PER_DAY }), fc.nat({ max: 800 * MS_PER_DAY })))
    .map(([from, length]) => ({ from, to: from + length }));

  it('begins before the range, does not end before it begins, and includes the earlier range of any shorter range', () => {
    fc.assert(
      fc.property(window, fc.constantFrom('previous' as const, 'year' as const), fc.nat(), (range, comparison, cut) => {
        const before = earlierRange(range, comparison);
        expect(before.from).toBeLessThan(range.from);
        expect(before.to).toBeGreaterThanOrEqual(before.from);
        if (comparison === 'previous') return expect(before.to).toBe(range.from - 1);
        const shorter = { from: range.from, to: range.from + (cut % (range.to - range.from + 1)) };
        expect(earlierRange(shorter, comparison).to).toBeLessThanOrEqual(before.to);
      }),
      { numRuns: 5_000 },
    );
  });
});
