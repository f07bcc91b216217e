import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { describe, expect, it } from '@jest/globals';
// @ts-expect-error The configuration is not typed.
import jestConfig from '../jest.config.mjs';

const root = join(import.meta.dirname, '..');

/** Folders of specs that test the service or the repository as a whole. */
const WHOLE_SERVICE = ['features', 'system'];

/** Specs that test more than one file, and what they test. */
const SUBJECTS_OF_SPECS: Readonly<Record<string, string>> = {
  'dashboard/picture.spec.ts': 'docs/images/dashboard.json',
  'projections/false-positives.spec.ts': 'the changed threats of the metrics, and the route that counts them',
  'event-log/transfer/transfer.spec.ts': 'export and import of an organization between both logs',
  'event-log/postgres/set-based-appends.spec.ts': 'log.append and the function of version 2.1.0 side by side',
  'records/taxii/clients.spec.ts': 'the loops of real TAXII clients, and what each needs from a server',
  'records/taxii/taxii.spec.ts': 'the collections of TAXII over HTTP, and their objects',
  'event-log/postgres/conditional-appends.spec.ts': 'the cost of conditional appends in log.append',
  'lists/lists-and-check.spec.ts': 'the verdicts of local lists are those of the check',
  'lists/local-list-vectors.spec.ts': 'docs/examples/local-list-vectors.json',
  'lists/names/stored-names.spec.ts': 'the names of local lists, as processes publish them and clients find them',
  'lists/versions.spec.ts': 'stored versions of local lists, as processes publish and follow them',
  'asset-check/field-cases.spec.ts': 'lists and spellings of real clients',
  'assets/carried-links.spec.ts': 'links that carry links',
  'assets/hosts.spec.ts': 'host names alike on every version of Node',
  'ci/suffix-list.spec.ts': '.ci/suffix-list.mjs',
  'asset-check/asset-check.spec.ts': 'the check as a whole, sources and verdict together',
  'asset-check/certainty.spec.ts': 'a verdict is never more certain than what was read',
  'asset-check/further-entries.spec.ts': 'a further entry of a list never frees anything, for random worlds of sources',
  'asset-check/login-links.spec.ts': 'requests of OAuth and links that a log-in opens afterwards, from text to verdict',
  'asset-check/second-targets.spec.ts': 'texts, messages and contacts with several targets, from text to verdict',
  'asset-check/links-in-links.spec.ts': 'links that carry links, with and without a row of the table',
  'asset-check/url-reports.spec.ts': 'reports of type URL whose link names something on a host of many people',
  'asset-check/read-back.spec.ts': 'the asset of an answer, read again',
  'asset-check/generated-texts.spec.ts': 'generated texts against the rule of certainty',
  'webhooks/delivery/erasure.spec.ts': 'deliveries in flight while their organization is erased',
  'webhooks/delivery/list-changed-endpoints.spec.ts': 'the statement that lists endpoints after a change',
  'webhooks/delivery/rotation.spec.ts': 'signatures of deliveries around rotations of the secret',
  'asset-check/hostile-content.spec.ts': 'reading content takes linear time, whatever its shape',
  'asset-check/lists/eth-phishing-detect.spec.ts': 'the verdicts of the metamask format are those of its own detector',
  'asset-check/lists/polkadot.spec.ts': 'the polkadot format over the shipped real list',
  'asset-groups/races.spec.ts': 'two instances that change groups concurrently',
  'asset-groups/writers.spec.ts': 'responses to concurrent writers are linearizable',
  'assets/link-forms.spec.ts': 'every form of a link that a platform gives out names the same profile',
  'assets/web-address-spellings.spec.ts': 'every URL that a browser opens on a host is read as that host',
  'bench/measuring.spec.ts': 'how the bench measures: quartiles, pairs, table, data, the end of a run',
  'ci/integrity.spec.ts': 'the lock file check of .ci',
  'event-log/behind-pgbouncer.spec.ts': 'the contract of the log behind a real PgBouncer',
  'event-log/in-memory.spec.ts': 'the contract of the log, kept by the log in memory that specs use',
  'events/longest-list.spec.ts': 'the longest lists that an event may carry',
  'events/vocabulary.spec.ts': 'the types of the vocabulary, by the compiler',
  'flow/limits-in-one-turn.spec.ts': 'every limiter of src, called many times before it can poll',
  'http/bodies.spec.ts': 'request bodies of all routes: sizes, compression, budgets',
  'http/unread-docs-responses.spec.ts': 'clients that request the API reference and disconnect',
  'http/hostile.spec.ts': 'hostile bodies and headers on all routes',
  'http/fairness.spec.ts': 'requests of many organizations on one event loop',
  'ci/ledger.spec.ts': '.ci/ledger.mjs',
  'ci/sequencer.spec.ts': '.ci/sequencer.mjs',
  'read-models/raw-statements.spec.ts': 'every raw statement fits the migrated schema',
};

const specs = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
  .map((name) => name.replaceAll('\\', '/'))
  .filter((name) => name.endsWith('.spec.ts'));

const hasSubject = (spec: string): boolean => {
  const file = spec.replace(/\.spec\.ts$/, '.ts');
  return (
    // The spec tests the repository as a whole.
    !spec.includes('/') ||
    WHOLE_SERVICE.some((folder) => spec.startsWith(`${folder}/`)) ||
    [posix.join('src', file), file]
      // Several specs of one file stand in a folder that has the name of the file.
      .flatMap((path) => [path, path.replace(/\.ts$/, ''), `${posix.dirname(path)}.ts`])
      .some((path) => existsSync(join(root, path)))
  );
};

describe('The tree of the tests', () => {
  it('mirrors the tree of the product: each spec has the path of the file that it tests, or is listed with its subject', () => {
    expect(specs.length).toBeGreaterThan(100);
    expect(specs.filter((spec) => !hasSubject(spec) && SUBJECTS_OF_SPECS[spec] === undefined)).toEqual([]);
  });

  it('has a list of exceptions that names only existing specs without the path of a tested file', () => {
    expect(Object.keys(SUBJECTS_OF_SPECS).filter((spec) => !specs.includes(spec) || hasSubject(spec))).toEqual([]);
  });
});

/** What the files of each folder may import. What the tests, the scenarios and the bench share is in `test/support`. */
const MAY_IMPORT: Readonly<Record<string, RegExp>> = {
  'test/support': /^(?:src|projections|test\/support)\//,
  test: /^(?!reliability\/)/,
  reliability: /^(?:src|projections|test\/support|reliability|bench|docs\/examples)\//,
  bench: /^(?:src|projections|test\/support|reliability|bench)\//,
};

const forbiddenImports = (path: string, source: string): string[] => {
  const folder = Object.keys(MAY_IMPORT).find((name) => path.startsWith(`${name}/`))!;
  return [...source.matchAll(/^(?:import|export|\} from)\b[^'\n]*'(\.[^']+)'|^[^'"\n]*\bimport\('(\.[^']+)'/gm)]
    .map(([, specifier, dynamic]) => posix.join(posix.dirname(path), (specifier ?? dynamic)!))
    .filter((target) => target.includes('/') && !MAY_IMPORT[folder]!.test(target))
    .map((target) => `${path} imports ${target}`);
};

describe('The support of the tests', () => {
  const paths = ['test', 'reliability', 'bench'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .map((name) => posix.join(folder, name.replaceAll('\\', '/')))
      .filter((name) => name.endsWith('.ts')),
  );

  it('is one folder: test and reliability do not import each other', () => {
    expect(paths).toContain('reliability/rig/check.ts');
    expect(paths.flatMap((path) => forbiddenImports(path, readFileSync(join(root, path), 'utf8')))).toEqual([]);
  });

  it.each([
    ['test/http/a.spec.ts', "import { b } from '../../reliability/rig/check.js';"],
    ['reliability/rig/a.ts', "import {\n  b,\n} from '../../test/projections/naive-timeline.js';"],
    ['reliability/rig/a.ts', "const b = await import('../../test/features/b.js');"],
    ['test/support/a.ts', "export { b } from '../projections/naive-timeline.js';"],
    ['bench/a.ts', "import { b } from '../test/assets/carried-links.js';"],
  ])('is the only folder that both import: %s may not contain %j', (path, source) => {
    expect(forbiddenImports(path, source)).toHaveLength(1);
  });
});

describe('A suite of jest.config.mjs that names its specs', () => {
  const { projects } = jestConfig as { projects: { displayName: string; testMatch: string[] }[] };
  const specsOf = (suite: string): string[] =>
    projects
      .find(({ displayName }) => displayName === suite)!
      .testMatch.map((path) => path.replace('<rootDir>/test/', ''));
  const withImportOf = (module: string): string[] =>
    specs.filter((spec) => readFileSync(join(root, 'test', spec), 'utf8').includes(`/support/${module}'`)).sort();

  it('names every spec with tests of full size', () => {
    expect(specsOf('full-size').sort()).toEqual(withImportOf('full-size.js'));
  });

  it('names no spec that does not exist', () => {
    const named = [...specsOf('long'), ...specsOf('eventstore')];
    expect(named.filter((spec) => !specs.includes(spec))).toEqual([]);
  });
});
