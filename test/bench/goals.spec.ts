import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { GOALS } from '../../bench/goals.js';

describe('The table of docs/internals/performance.md', () => {
  it('has a row for each goal that the bench measures against a required value', () => {
    const page = readFileSync('docs/internals/performance.md', 'utf8');
    const named = GOALS.map(({ name }) => name).filter((name) => name.startsWith('G'));
    expect(named.filter((name) => !page.includes(`| ${name}`))).toEqual([]);
  });
});

describe('The list of goals', () => {
  it('has every goal that a file of the bench declares', () => {
    const sources = readdirSync('bench').filter((file) => file.endsWith('.ts'));
    const declared = sources.flatMap((file) =>
      [...readFileSync(join('bench', file), 'utf8').matchAll(/(?:: Goal = \{\s+name: |= delayGoal\()'([^']+)'/g)].map(
        ([, name]) => name,
      ),
    );
    expect(declared.length).toBeGreaterThan(0);
    expect(new Set(GOALS.map(({ name }) => name))).toEqual(new Set(declared));
    expect(GOALS).toHaveLength(declared.length);
  });
});
