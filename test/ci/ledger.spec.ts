import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

interface Run {
  readonly commit: string;
  readonly began: string;
  readonly seconds: number;
  readonly outcome: string;
  readonly last: string;
}
interface Dose {
  readonly name: string;
  readonly command: readonly string[];
  readonly covers: readonly string[];
}
const { coversOfScenario, outOfDate, readLedger, writeLedger } = (await import('../../.ci/ledger.mjs' as string)) as {
  coversOfScenario: (name: string) => string[];
  outOfDate: (
    doses: readonly Dose[],
    ledger: Readonly<Record<string, Run>>,
  ) => { readonly dose: Dose; readonly reason: string }[];
  readLedger: (path: string) => Record<string, Run>;
  writeLedger: (path: string, ledger: Readonly<Record<string, Run>>) => void;
};

const dose = (name: string, ...covers: readonly string[]): Dose => ({ name, command: ['true'], covers });

describe('The ledger of doses', () => {
  const before = process.cwd();
  const git = (...args: readonly string[]): string =>
    execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x@example.com', ...args], { encoding: 'utf8' }).trim();
  const commit = (file: string): string => {
    writeFileSync(file, String(Math.random()));
    git('add', '.');
    git('commit', '-qm', file);
    return git('rev-parse', 'HEAD');
  };

  beforeEach(() => {
    process.chdir(mkdtempSync(join(tmpdir(), 'ledger-')));
    git('init', '-q');
  });
  afterEach(() => {
    const folder = process.cwd();
    process.chdir(before);
    rmSync(folder, { recursive: true });
  });

  const ran = (at: string, day: number, outcome = 'passed'): Run => ({
    commit: at,
    began: `2026-01-0${day}T00:00:00.000Z`,
    seconds: 1,
    outcome,
    last: '',
  });

  it('runs first what never ran, then what failed, then what covers changed code, and nothing else', () => {
    const first = commit('a');
    const second = commit('b');
    const doses = [dose('late', 'b'), dose('early', 'b'), dose('same', 'a'), dose('red', 'a'), dose('new', 'a')];
    const ledger = {
      late: ran(first, 2),
      early: ran(first, 1),
      same: ran(first, 1),
      red: ran(second, 3, 'failed'),
      gone: ran(first, 1),
    };
    expect(outOfDate(doses, ledger).map(({ dose: { name }, reason }) => `${name}: ${reason}`)).toEqual([
      'new: never ran',
      'red: did not pass',
      'early: covers changed code',
      'late: covers changed code',
    ]);
  });

  it('counts what is not committed and a commit that is lost as changed', () => {
    const first = commit('a');
    expect(outOfDate([dose('one', 'a')], { one: ran(first, 1) })).toEqual([]);
    expect(outOfDate([dose('one', 'a')], { one: ran('0123456789abcdef', 1) })).toHaveLength(1);
    writeFileSync('a', 'changed');
    expect(outOfDate([dose('one', 'a')], { one: ran(first, 1) })).toHaveLength(1);
  });

  it('keeps a scenario while another one changes', () => {
    mkdirSync('reliability/faults', { recursive: true });
    for (const [file, text] of Object.entries({
      'killed.ts': `import { call } from '../rig/call.js';\nname: 'F1'`,
      'heavy.ts': `import { run } from './noisy.js';\nname: 'F2'`,
      'noisy.ts': `name: 'F21'`,
    }))
      writeFileSync(`reliability/faults/${file}`, text);
    git('add', '.');
    expect(coversOfScenario('F1')).toEqual(['reliability/rig', 'reliability/faults/killed.ts']);
    expect(coversOfScenario('F2')).toEqual([
      'reliability/rig',
      'reliability/faults/heavy.ts',
      'reliability/faults/noisy.ts',
    ]);
    expect(coversOfScenario('F3')).toEqual(['reliability/rig', 'reliability/faults', 'reliability/attacks']);
  });

  it('is written in the order of the names', () => {
    writeLedger('ledger.json', { F10: ran('x', 1), F2: ran('y', 1) });
    expect(Object.keys(readLedger('ledger.json'))).toEqual(['F2', 'F10']);
  });
});
