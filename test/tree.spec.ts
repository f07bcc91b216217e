import { existsSync, readdirSync } from 'node:fs';
import { join, posix } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const root = join(import.meta.dirname, '..');

/** Folders whose specs try the service or the repository as a whole. */
const SUBJECTS = ['features', 'system'];

/** Specs that prove more than one file, and what they hold. */
const HOLDS: Readonly<Record<string, string>> = {
  'event-log/postgres/conditional-appends.spec.ts': 'the cost of conditional appends in log.append',
  'asset-check/field-cases.spec.ts': 'lists and spellings that the field sends',
  'assets/carried-links.spec.ts': 'links that carry links',
  'assets/hosts.spec.ts': 'host names alike on every version of Node',
  'ci/suffix-list.spec.ts': '.ci/suffix-list.mjs',
  'asset-check/asset-check.spec.ts': 'the check as a whole, sources and verdict together',
  'asset-check/hostile-content.spec.ts': 'reading content takes linear time, whatever its shape',
  'asset-check/lists/eth-phishing-detect.spec.ts': 'the verdicts of the metamask format are those of its own detector',
  'asset-check/lists/polkadot.spec.ts': 'the polkadot format over the shipped real list',
  'asset-groups/races.spec.ts': 'two instances that change groups at once',
  'asset-groups/writers.spec.ts': 'many writers: what each was answered is true of one order (linearizable)',
  'assets/link-forms.spec.ts': 'every form of a link that a platform gives out names the same profile',
  'assets/web-forms.spec.ts': 'every spelling of an address that opens a host is read as that host',
  'bench/measuring.spec.ts': 'how the bench measures: quartiles, pairs, table, data, the end of a run',
  'ci/integrity.spec.ts': 'the lock file check of .ci',
  'event-log/behind-pgbouncer.spec.ts': 'the contract of the log behind a real PgBouncer',
  'event-log/in-memory.spec.ts': 'the contract of the log, kept by the log in memory that specs use',
  'events/longest-list.spec.ts': 'the longest lists that an event may carry',
  'events/vocabulary.spec.ts': 'the types of the vocabulary, by the compiler',
  'http/bodies.spec.ts': 'bodies of all routes: sizes, packing, budgets',
  'http/docs-unread.spec.ts': 'clients that ask for the reference and leave',
  'http/hostile.spec.ts': 'hostile bodies and headers on all routes',
  'http/fairness.spec.ts': 'requests of many organizations on one event loop',
  'projections/metrics-statements.spec.ts': 'plans and effects of the statements of a batch',
  'read-models/raw-statements.spec.ts': 'every raw statement fits the migrated schema',
};

const specs = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
  .map((name) => name.replaceAll('\\', '/'))
  .filter((name) => name.endsWith('.spec.ts'));

const hasSubject = (spec: string): boolean => {
  const file = spec.replace(/\.spec\.ts$/, '.ts');
  return (
    // Of the repository as a whole.
    !spec.includes('/') ||
    SUBJECTS.some((subject) => spec.startsWith(`${subject}/`)) ||
    [posix.join('src', file), file]
      .flatMap((path) => [path, path.replace(/\.ts$/, '')])
      .some((path) => existsSync(join(root, path)))
  );
};

describe('The tree of the tests', () => {
  it('is the tree of the product: a spec stands at the path of what it proves, or is listed with what it holds', () => {
    expect(specs.length).toBeGreaterThan(100);
    expect(specs.filter((spec) => !hasSubject(spec) && HOLDS[spec] === undefined)).toEqual([]);
  });

  it('lists no spec that is gone, or that stands at the path of what it proves', () => {
    expect(Object.keys(HOLDS).filter((spec) => !specs.includes(spec) || hasSubject(spec))).toEqual([]);
  });
});
