import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Line } from '../../bench/goal.js';
import { Results } from '../../bench/results.js';

const MACHINE = { processor: '2 × Some CPU @ 2.0GHz', memory: '8 GB', node: 'v20.20.2', postgres: '18.1' };

const line = (median: number, more?: boolean, what = 'a route'): Line => ({
  goal: 'G1',
  what,
  against: '-',
  unit: '',
  must: 0,
  measured: { median, lower: median, upper: median },
  ...(more !== undefined && { more }),
});

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'results-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});
const open = (machine = MACHINE): Results => new Results(folder, machine);

describe('The results of the bench', () => {
  it('are one file for each commit in a folder for each kind of machine', () => {
    expect(open().keep('aaaa', [line(1)], '2026-01-01')).toBe(
      join(folder, '2-some-cpu-2.0ghz-8-gb-node-v20', 'aaaa.json'),
    );
    open().keep('bbbb', [line(1)], '2026-01-02');
    open({ ...MACHINE, node: 'v24.1.0' }).keep('aaaa', [line(1)], '2026-01-03');
    expect(readdirSync(folder).map((kind) => readdirSync(join(folder, kind)).length)).toEqual([2, 1]);
  });

  it('compare a line with the newest one of another commit on the same kind of machine', () => {
    open().keep('aaaa', [line(4)], '2026-01-01');
    open().keep('bbbb', [line(2)], '2026-01-02');
    open().keep('cccc', [line(8)], '2026-01-03');
    expect(open().change(line(2), 'cccc')).toBe('1 × since bbbb');
    expect(open().change(line(2), undefined)).toBe('0.25 × since cccc, WORSE');
    expect(open({ ...MACHINE, memory: '16 GB' }).change(line(2), undefined)).toBe('');
    expect(open().change(line(2, true, 'another route'), undefined)).toBe('');
  });

  it('mark what became worse by more than a twentieth, in the direction of the line', () => {
    open().keep('aaaa', [line(100)], '2026-01-01');
    const isMarked = (median: number, more?: boolean): boolean =>
      open().change(line(median, more), undefined).endsWith('WORSE');
    expect([isMarked(96), isMarked(94), isMarked(200)]).toEqual([false, true, false]);
    expect([isMarked(104, false), isMarked(106, false), isMarked(50, false)]).toEqual([false, true, false]);
  });

  it('keep the lines that an earlier run with the same commit measured', () => {
    open().keep('aaaa', [line(1), line(2, true, 'another route')], '2026-01-01');
    open().keep('aaaa', [line(3)], '2026-01-02');
    expect(open().change(line(3), undefined)).toBe('1 × since aaaa');
    expect(open().change(line(2, true, 'another route'), undefined)).toBe('1 × since aaaa');
  });
});
