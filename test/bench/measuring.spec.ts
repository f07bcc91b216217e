import { describe, expect, it } from '@jest/globals';
import { CleanUp } from '../../bench/clean-up.js';
import { requirement } from '../../bench/compare-builds.js';
import { zipfBounds } from '../../bench/facts.js';
import { createPool } from '../../src/postgres/pool.js';
import type { Line } from '../../bench/goal.js';
import { measurePaired, ratiosOf } from '../../bench/paired.js';
import { quantile, quartilesOf, reciprocalsOf } from '../../bench/statistics.js';
import { goalsTable, isMet } from '../../bench/table.js';

describe('Quartiles', () => {
  it('are values of the set, or interpolated linearly between two of them', () => {
    expect(quartilesOf([5, 1, 3, 2, 4])).toEqual({ lower: 2, median: 3, upper: 4 });
    expect(quartilesOf([4, 1, 3, 2])).toEqual({ lower: 1.75, median: 2.5, upper: 3.25 });
    expect(quartilesOf([7])).toEqual({ lower: 7, median: 7, upper: 7 });
    expect(quantile([10, 20], 0.99)).toBeCloseTo(19.9);
    expect(reciprocalsOf({ lower: 2, median: 4, upper: 5 }, 1_000)).toEqual({ lower: 200, median: 250, upper: 500 });
  });

  it('throw for an empty set', () => {
    expect(() => quantile([], 0.5)).toThrow(RangeError);
  });
});

describe('A paired measurement', () => {
  it('compares each target slice with the mean of the base slices before and after it', () => {
    expect(ratiosOf([10, 30, 50], [40, 20])).toEqual([2, 0.5]);
    expect(() => ratiosOf([10], [10])).toThrow(RangeError);
  });

  it('alternates base and target slices after one warm-up slice of each', async () => {
    const order: string[] = [];
    const slice = (name: string, rates: number[]) => async (ms: number) => {
      order.push(`${name} ${ms}`);
      return rates.shift()!;
    };
    const paired = await measurePaired(
      { base: slice('base', [1000, 10, 10, 10]), target: slice('target', [1000, 5, 20]) },
      { rounds: 2, ms: 100 },
    );
    expect(order).toEqual(['base 50', 'target 50', 'base 100', 'target 100', 'base 100', 'target 100', 'base 100']);
    expect(paired.ratio).toEqual({ lower: 0.875, median: 1.25, upper: 1.625 });
    expect(paired.base.median).toBe(10);
  });
});

describe('The results table', () => {
  const line: Line = {
    goal: 'G0',
    what: 'a thing',
    against: 'a peer',
    measured: { lower: 1, median: 2, upper: 3 },
    unit: '×',
    must: 2,
    aim: 3,
  };

  it('decides by the median whether a goal is met, both if more is better and if less is better', () => {
    expect(isMet(line, line.must)).toBe(true);
    expect(isMet(line, line.aim)).toBe(false);
    expect(isMet({ ...line, more: false }, 1.9)).toBe(false);
    expect(isMet(line, undefined)).toBe(false);
  });

  it('marks a required value that is not met', () => {
    expect(goalsTable([line], () => 'WORSE')).toMatch(/\| must .*\| WORSE /);
    expect(goalsTable([{ ...line, must: 2.1 }], () => '')).toContain('NOT MET');
  });

  it('says nothing about a line that is required only in relation to another build', () => {
    const { must: _, aim: __, ...figure } = line;
    expect(goalsTable([figure], () => '')).not.toMatch(/NOT MET|\| must|\| aim .*\| aim /);
    const ofOtherBuild = { must: 0.5, aim: 0.4 };
    const of = (median: number, more: boolean) =>
      requirement({ ...figure, ofOtherBuild, more }, { lower: 0, median, upper: 9 });
    expect([of(0.4, false), of(0.5, false), of(0.6, false)]).toEqual([
      '≤ 0.50, aim',
      '≤ 0.50, must',
      '≤ 0.50, NOT MET',
    ]);
    expect([of(0.5, true), of(0.3, true)]).toEqual(['≥ 0.50, aim', '≥ 0.50, NOT MET']);
    expect(requirement(line, line.measured)).toBe('');
  });
});

describe('The data of the bench', () => {
  it('gives the first of a hundred organizations a fifth of all facts', () => {
    expect(zipfBounds(100)[0]).toBeCloseTo(0.1928, 3);
    expect(zipfBounds(100)).toHaveLength(99);
  });
});

describe('The clean-up after a run', () => {
  it('completes although a failed goal still holds a connection, and ends each pool once', async () => {
    const lines: string[] = [];
    const ending = new CleanUp((line) => void lines.push(line), 20);
    let isStopped = false;
    ending.add(async () => void (isStopped = true));
    ending.add(() => Promise.reject(new Error('it was gone already')));
    const pool = createPool(process.env['TEST_DATABASE_URL']!, () => {});
    const connection = await pool.connect();
    let ends = 0;
    ending.add(() => {
      ends++;
      return pool.end();
    });
    // A signal during the clean-up starts the clean-up again.
    await Promise.all([ending.run(), ending.run()]);
    await ending.run();
    expect(ends).toBe(1);
    expect(isStopped).toBe(true);
    expect(lines).toEqual([
      'Clean-up: a resource is still open after 0.02 s and is not closed',
      'Clean-up: it was gone already',
    ]);
    connection.release();
  });
});
