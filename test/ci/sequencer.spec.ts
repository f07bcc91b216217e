import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from '@jest/globals';

const SECONDS = JSON.parse(readFileSync('.ci/seconds.json', 'utf8')) as Record<string, number>;

/** Returns the specs in the order in which Jest would start them. @param sizes the bytes of each spec */
const inOrder = (sizes: Readonly<Record<string, number>>): string[] => {
  const script = `
    import Sequencer from './.ci/sequencer.mjs';
    const sizes = JSON.parse(process.env.GIVEN);
    const context = { config: { rootDir: process.cwd(), cache: false }, hasteFS: { getSize: (path) => sizes[path] } };
    const tests = Object.keys(sizes).map((path) => ({ path, context }));
    console.log(JSON.stringify(new Sequencer({}).sort(tests).map(({ path }) => path)));`;
  const given = Object.fromEntries(Object.entries(sizes).map(([spec, size]) => [resolve(spec), size]));
  const env = { ...process.env, GIVEN: JSON.stringify(given) };
  const args = ['--input-type=module', '--eval', script];
  const sorted = JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8', env })) as string[];
  return sorted.map((path) => path.slice(resolve('.').length + 1));
};

it('Jest starts the longest specs first, and new specs after those of more than 20 s, large files first', () => {
  const known = Object.keys(SECONDS).filter((spec) => SECONDS[spec] !== 20);
  const isLong = (spec: string): boolean => SECONDS[spec]! > 20;
  const sizes = { ...Object.fromEntries(known.map((spec) => [spec, 1])), 'new/small': 1, 'new/large': 2 };
  const order = inOrder(sizes);
  const first = order.indexOf('new/large');
  expect(order[first + 1]).toBe('new/small');
  expect(order.slice(0, first).every(isLong)).toBe(true);
  expect(order.slice(first + 2).some(isLong)).toBe(false);
  const seconds = order.filter((spec) => spec in SECONDS).map((spec) => SECONDS[spec]!);
  expect(seconds).toEqual(seconds.toSorted((one, other) => other - one));
});

it('Jest uses this order', () => {
  expect(readFileSync('jest.config.mjs', 'utf8')).toContain("testSequencer: '<rootDir>/.ci/sequencer.mjs'");
});
