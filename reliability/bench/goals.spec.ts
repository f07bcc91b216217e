import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import type { Growth, Line } from '../../bench/goal.js';
import { GOALS } from '../../bench/goals.js';

interface Output {
  readonly lines: readonly Line[];
  readonly growths: readonly Growth[];
  readonly failed: readonly unknown[];
}

/** A goal that prints a table of growth instead of lines. */
const WITHOUT_LINES = ['sizing'];

describe('The bench', () => {
  // Each goal requires equal results of its variants before it times them.
  it('measures every goal on small data, and gets equal results from all variants', async () => {
    const file = join(process.cwd(), 'dist', 'bench', 'main.js');
    const { stdout } = await promisify(execFile)(process.execPath, [file, '--quick', '--json'], {
      env: { ...process.env, BENCH_DATABASE_URL: process.env['TEST_DATABASE_URL'] },
      maxBuffer: 2 ** 24,
    });
    const { lines, growths, failed } = JSON.parse(stdout) as Output;
    expect(failed).toEqual([]);
    // G19 prints G19a, G19b and G19c.
    const measured = new Set(lines.map(({ goal }) => (goal.startsWith('G19') ? 'G19' : goal)));
    expect(GOALS.map(({ name }) => name).filter((name) => !measured.has(name))).toEqual(WITHOUT_LINES);
    expect(growths.map(({ what }) => what)).toContain('Growth of a log and its read models');
    expect(lines.filter(({ measured: { lower, upper } }) => !Number.isFinite(lower + upper))).toEqual([]);
  }, 900_000);
});
