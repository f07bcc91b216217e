import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const root = join(import.meta.dirname, '..');
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> };
/** What `npm test` leaves to `npm run test:all`, which runs every spec. */
const left = /--testPathIgnorePatterns "<rootDir>\/([^"]+)"/.exec(scripts['test']!)![1]!;
const isLeft = (spec: string): boolean => new RegExp(`^${left}`).test(spec);

const specs = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.spec.ts'))
  .map((name) => posix.join('test', name.replaceAll('\\', '/')));
const roomOf = (spec: string): string => spec.split('/').slice(1, -1).join('/');
const roomsWhere = (condition: (spec: string) => boolean): string[] =>
  [...new Set(specs.filter(condition).map(roomOf))].sort();

/**
 * Doses of faults and attacks with their counter-tests, the second log's reruns, the bench, what needs a real Chromium
 * or Prometheus, and what takes a build of its own.
 */
const ALL_ONLY = [
  'bench',
  'browser',
  'build',
  'event-log/on-eventstoredb',
  'faults',
  'monitoring',
  'security',
  'upgrade',
];

/** What a spec imports that belongs to the second tier: a dose, or the log that another spec is run again on. */
const DOSE = /(?:^|\n)await import\(|\bfrom '[^']*\/(?:stands|withstands)\.js'|\bTEST_LOG\b/;

describe('The tiers of the tests', () => {
  it('are two: `npm test` leaves these rooms to `npm run test:all`, and no other', () => {
    expect(roomsWhere(isLeft)).toEqual(ALL_ONLY);
    expect(roomsWhere((spec) => !isLeft(spec)).filter((room) => ALL_ONLY.includes(room))).toEqual([]);
  });

  it('together are all specs: `npm run test:all` leaves out none, and CI calls it', () => {
    const jest = scripts['test']!.slice(0, scripts['test']!.indexOf(' --testPathIgnorePatterns'));
    expect(scripts['test:all']).toBe(jest);
    expect(scripts['pretest:all']).toBe(scripts['pretest']);
    const ci = readFileSync(join(root, '.ci', 'run'), 'utf8');
    expect(ci).toContain(scripts['pretest:all']!.replace('--silent ', ''));
    // It has built while it linted.
    expect(ci).toContain('npm run --ignore-scripts test:all -- ');
  });

  it('leave no dose and no rerun in `npm test`', () => {
    const doses = specs.filter((spec) => DOSE.test(readFileSync(join(root, spec), 'utf8')));
    expect(doses.filter(isLeft)).not.toEqual([]);
    expect(doses.filter((spec) => !isLeft(spec))).toEqual([]);
  });
});
