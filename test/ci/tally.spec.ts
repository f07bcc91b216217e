import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';

const folder = mkdtempSync(join(tmpdir(), 'tally-'));

/** A report as Jest writes it, of specs by name and of their tests by status. */
const report = (file: string, specs: Record<string, readonly string[]>): string => {
  const testResults = Object.entries(specs).map(([name, statuses]) => ({
    name,
    status: statuses.length === 0 || statuses.includes('failed') ? 'failed' : 'passed',
    assertionResults: statuses.map((status, n) => ({ status, fullName: `${name} ${n}` })),
  }));
  writeFileSync(join(folder, file), JSON.stringify({ testResults }));
  return join(folder, file);
};

const tally = (...given: readonly string[]) => {
  const { stdout, stderr } = spawnSync(process.execPath, ['.ci/tally.mjs', ...given], { encoding: 'utf8' });
  return { stdout, stderr };
};

const first = report('1.json', { a: ['passed', 'passed'], b: ['failed', 'passed', 'pending'], c: [], d: ['failed'] });

afterAll(() => rmSync(folder, { recursive: true }));

describe('The tally', () => {
  it('counts tests, and a spec that could not be run as one failure', () => {
    expect(tally(first)).toEqual({ stdout: '3 passed, 3 failed, 1 skipped\n', stderr: '' });
    expect(tally('--failed', first).stdout).toBe('b\nc\nd\n');
  });

  it('goes by the later report, and says what failed at first', () => {
    const second = report('2.json', { b: ['passed', 'passed', 'pending'], c: ['passed'], d: ['failed'] });
    expect(tally(first, second)).toEqual({
      stdout: '5 passed, 1 failed, 1 skipped\n',
      stderr: 'FAILED AT FIRST: b 0\nFAILED AT FIRST: c\n',
    });
    expect(tally('--failed', first, second).stdout).toBe('d\n');
  });

  it('counts nothing where a report is missing', () => {
    expect(tally(first, join(folder, '3.json'))).toMatchObject({
      stdout: '',
      stderr: expect.stringContaining('ENOENT'),
    });
  });
});
