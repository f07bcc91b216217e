import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { GOALS } from '../../bench/goals.js';

describe('The table of docs/internals/performance.md', () => {
  it('has a row for each goal that the bench measures against a required value', () => {
    const page = readFileSync('docs/internals/performance.md', 'utf8');
    const named = GOALS.map(({ name }) => name).filter((name) => name.startsWith('G'));
    expect(named.filter((name) => !page.includes(`| ${name}`))).toEqual([]);
  });
});
