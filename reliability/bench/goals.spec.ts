import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import type { Line } from '../../bench/goal.js';

describe('The bench', () => {
  // Each goal requires equal results of its variants before it times them.
  it('gets equal results from all variants of counting, projecting and looking up, on small data', async () => {
    const file = join(process.cwd(), 'dist', 'bench', 'main.js');
    const goals = ['G3', 'G4', 'G6'];
    const { stdout } = await promisify(execFile)(process.execPath, [file, ...goals, '--quick', '--json'], {
      env: { ...process.env, BENCH_DATABASE_URL: process.env['TEST_DATABASE_URL'] },
      maxBuffer: 2 ** 24,
    });
    const { lines, failed } = JSON.parse(stdout) as { lines: Line[]; failed: unknown[] };
    expect(failed).toEqual([]);
    expect(new Set(lines.map(({ goal }) => goal.slice(0, 2)))).toEqual(new Set(goals));
  }, 600_000);
});
