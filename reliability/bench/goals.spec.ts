import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import type { Line } from '../../bench/goal.js';

describe('The bench', () => {
  // Each goal requires equal results of its variants before it times them. G1t, G7, G9, G25 and the sizing are left out:
  // they compare no results, and start many processes or fill a log for minutes.
  it('gets equal results from all variants of each goal, on small data', async () => {
    const file = join(process.cwd(), 'dist', 'bench', 'main.js');
    const goals = 'G1 G1b G2 G3 G4 G5 G5b G6 G8 G15 G17 G18 G19 G21 G22 G23 G24 groups'.split(' ');
    const { stdout } = await promisify(execFile)(process.execPath, [file, ...goals, '--quick', '--json'], {
      env: { ...process.env, BENCH_DATABASE_URL: process.env['TEST_DATABASE_URL'] },
      maxBuffer: 2 ** 24,
    });
    const { lines, failed } = JSON.parse(stdout) as { lines: Line[]; failed: unknown[] };
    expect(failed).toEqual([]);
    const measured = lines.map(({ goal }) => goal);
    expect(goals.filter((name) => !measured.some((goal) => goal.startsWith(name)))).toEqual([]);
  }, 600_000);
});
