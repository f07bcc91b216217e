/** What every suite shares. */
const shared = {
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  resolver: '<rootDir>/test/support/resolver.cjs',
  transform: {
    '\\.ts$': [
      '@swc/jest',
      {
        jsc: {
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true },
          target: 'es2023',
          keepClassNames: true,
        },
        module: { type: 'es6' },
        sourceMaps: 'inline',
      },
    ],
  },
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
};

/**
 * The limits of `test` and `long`, in ms, on a machine with a free processor (`test/support/time-limits.ts`). None with a
 * real EventStoreDB: a spec that kills the server holds it alone for minutes, and the others wait in their hooks.
 */
const limits = process.env['TEST_EVENTSTORE_URL']
  ? {}
  : {
      globals: { TEST_TIMEOUT_MS: 20_000, EVENTUALLY_TIMEOUT_MS: 10_000 },
      setupFilesAfterEnv: ['<rootDir>/test/support/time-limits.ts'],
    };

const suite = (displayName, ...testMatch) => ({ ...shared, displayName, testMatch });

/** The specs of `test` that take longest, together more than half of its time. Only `npm run test:all` runs them. */
const LONG = [
  'asset-check/lists/list-source',
  'asset-check/own/own-statuses',
  'event-log/eventstoredb',
  'event-log/transfer/transfer',
  'features/consistency',
  'features/disputes',
  'features/erase',
  'features/erase-in-event-store',
  'features/fairness',
  'features/group-assets',
  'features/known-at',
  'features/list-clients',
  'features/lists',
  'features/places',
  'features/redact',
  'features/redact-in-event-store',
  'features/restatement',
  'features/retention',
  'features/send-events',
  'features/webhooks',
  'http/bodies',
  'http/connections',
  'lists/lists-and-check',
  'projections/engine/parked',
  'projections/engine/poison-events',
  'projections/engine/projector/projector',
  'projections/engine/rebuild',
  'projections/metrics/counts',
  'projections/metrics/history',
  'projections/register',
  'records/list-records',
  'records/taxii/clients',
  'records/taxii/taxii',
  'webhooks/delivery/deliveries',
].map((spec) => `test/${spec}.spec.ts`);

/** The specs that `npm run test:release` runs again with their log in EventStoreDB. */
const ON_EVENTSTORE = [
  'asset-groups/races',
  'features/api-keys',
  'features/asset-check',
  'features/asset-groups',
  'features/consistency',
  'features/events',
  'features/group-assets',
  'features/webhooks',
  'projections/metrics/counts',
  'projections/metrics/history',
  'records/taxii/clients',
].map((spec) => `<rootDir>/test/${spec}.spec.ts`);

/** The specs whose random or large tests are small in `test`, and of full size before a release (`sized`). */
const FULL_SIZE = [
  'asset-check/further-entries',
  'asset-check/generated-texts',
  'asset-check/lists/guards',
  'asset-check/links-in-links',
  'asset-check/own/own-statuses',
  'assets/parse-content',
  'assets/web-address-spellings',
  'features/dry-run',
  'features/export-import',
  'features/known-at',
  'features/places',
  'features/retention',
  'http/hostile',
  'lists/build/kept-lists',
  'lists/lists-and-check',
  'lists/names/expression-names',
  'lists/versions',
  'projections/asset-statuses',
  'projections/false-positives',
  'projections/engine/parked',
  'projections/metrics/counts',
  'projections/metrics/history',
  'projections/register',
  'records/list-records',
  'system/clients/copy-samples',
  'system/clients/senders',
  'system/program/closed-output',
  'system/program/refused-connections',
  'webhooks/delivery/rotation',
].map((spec) => `<rootDir>/test/${spec}.spec.ts`);

/** CONTRIBUTING.md says what each suite proves, and when it runs. */
export default {
  projects: [
    {
      ...suite('test', '<rootDir>/test/**/*.spec.ts', '!**/test/system/**', ...LONG.map((spec) => `!**/${spec}`)),
      ...limits,
    },
    { ...suite('long', ...LONG.map((spec) => `<rootDir>/${spec}`)), ...limits },
    suite('system', '<rootDir>/test/system/**/*.spec.ts'),
    suite('reliability', '<rootDir>/reliability/every-change/*.spec.ts'),
    suite('release', '<rootDir>/reliability/**/*.spec.ts', '!**/reliability/every-change/**'),
    { ...suite('eventstore', ...ON_EVENTSTORE), globals: { IS_LOG_IN_EVENTSTORE: true } },
    { ...suite('full-size', ...FULL_SIZE), globals: { IS_FULL_SIZE: true } },
  ],
  testSequencer: '<rootDir>/.ci/sequencer.mjs',
  // Ends what hangs in the other suites. Jest ignores the `testTimeout` of a project.
  testTimeout: process.env['TEST_EVENTSTORE_URL'] ? 600_000 : 300_000,
  workerIdleMemoryLimit: '1GB',
};
