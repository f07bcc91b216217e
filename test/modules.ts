/** What every feature may import. */
const FEATURE = [
  'events',
  'assets',
  'errors',
  'runtime',
  'flow',
  'postgres',
  'event-log',
  'read-models',
  'ops',
  'quotas',
  'http',
];
/**
 * The modules of src, each a folder or a file, and the modules that each may import. The table in
 * docs/internals/architecture.md says the same.
 */
export const MODULES: Readonly<Record<string, readonly string[] | 'all of src'>> = {
  errors: [],
  assets: [],
  egress: ['assets', 'runtime'],
  events: ['assets'],
  runtime: [],
  flow: ['errors'],
  postgres: ['runtime', 'errors'],
  'event-log': ['events', 'postgres', 'runtime', 'errors', 'flow'],
  'read-models': ['postgres', 'runtime', 'errors', 'flow'],
  ops: ['event-log', 'events', 'flow', 'postgres', 'read-models', 'runtime'],
  quotas: ['events', 'postgres', 'read-models', 'runtime', 'errors', 'flow'],
  http: ['runtime', 'errors', 'events', 'flow', 'ops', 'postgres', 'event-log', 'read-models'],
  ingestion: [...FEATURE, 'verdicts'],
  metrics: FEATURE,
  verdicts: ['events'],
  disputes: [...FEATURE, 'verdicts'],
  records: [...FEATURE, 'verdicts'],
  'asset-check': [...FEATURE, 'egress', 'verdicts'],
  'asset-groups': FEATURE,
  organization: FEATURE,
  webhooks: [...FEATURE, 'egress', 'records'],
  'api-keys': FEATURE,
  dashboard: ['http'],
  api: 'all of src',
  main: ['runtime', 'api'],
  deliver: ['runtime', 'webhooks'],
  cli: 'all of src',
};
export const PROJECTIONS = [
  'events',
  'assets',
  'event-log',
  'postgres',
  'read-models',
  'runtime',
  'errors',
  'flow',
  'ops',
];
