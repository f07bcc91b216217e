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
 * What takes more than the spec's own process and the run's database: the built programs, servers and clients of others,
 * a PostgreSQL or a build of its own, Chromium, Prometheus; every example of the reference; the demo; doses of faults and attacks with their counter-tests; every
 * statement over ten times the rows; the bench; the reruns on the second log.
 */
const ALL_ONLY = [
  'bench',
  'browser',
  'build',
  'clients',
  'demo',
  'event-log/on-eventstoredb',
  'faults',
  'monitoring',
  'postgres/embedded',
  'program',
  'read-models/growth',
  'reference',
  'security/answers',
  'security/floods',
  'security/memory',
  'security/neighbours',
  'security/outside',
  'security/wire',
  'upgrade',
];

/** What only a spec of the second tier has: a built program, a dose, or the log that another spec is run again on. */
const SECOND: Readonly<Record<string, RegExp>> = {
  program: /\bfrom '[^']*\/support\/program\.js'/,
  dose: /\bfrom '[^']*\/(?:stands|withstands)\.js'/,
  rerun: /(?:^|\n)await import\(|\bTEST_LOG\b/,
};

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
    expect(ci).toContain('npm run build &');
    // It has built while it linted.
    expect(ci).toContain('npm run --ignore-scripts test:all -- ');
  });

  it.each(Object.keys(SECOND))('leave no %s in `npm test`', (what) => {
    const found = specs.filter((spec) => SECOND[what]!.test(readFileSync(join(root, spec), 'utf8')));
    expect(found.filter(isLeft)).not.toEqual([]);
    expect(found.filter((spec) => !isLeft(spec))).toEqual([]);
  });
});
