import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import type { Line } from '../../../bench/goal.js';

describe('The bench', () => {
  // The goals of counting and projecting run before a release (`reliability/bench`).
  it('runs a goal, checks that all variants give the same results, and prints its lines as JSON', async () => {
    const file = join(process.cwd(), 'dist', 'bench', 'main.js');
    const goals = ['G6a'];
    const { stdout } = await promisify(execFile)(process.execPath, [file, ...goals, '--quick', '--json'], {
      env: { ...process.env, BENCH_DATABASE_URL: process.env['TEST_DATABASE_URL'] },
      maxBuffer: 2 ** 24,
    });
    const { lines, failed } = JSON.parse(stdout) as { lines: Line[]; failed: unknown[] };
    expect(failed).toEqual([]);
    expect(new Set(lines.map(({ goal }) => goal.slice(0, 3)))).toEqual(new Set(goals));
  });
});
