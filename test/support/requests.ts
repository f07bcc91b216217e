import { KIND_NAMES } from '../../src/events/listed-items.js';
import type { CallOptions } from './call.js';
import { readReference } from './contract.js';
import { cloudEvent, sent } from './upstream.js';

/** A request to a route. */
export interface Request extends Omit<CallOptions, 'key'> {
  readonly path: string;
}

const GROUPS = '/v2/organization/asset-groups';
const WEBHOOKS = '/v2/organization/webhooks';
const webhook = (n: number): string => `${WEBHOOKS}/wh_${String(n).padStart(24, '0')}`;
const restatement = (of: string, n: number): string =>
  `/v2/organization/metrics/restatement${of}?endDate=${2000 + n}-01-01&from=2020-01-01T00:00:00Z`;
const report = (organization: string, n: number): object => {
  const at = '2026-03-01T00:00:00Z';
  return cloudEvent(sent('ReportFiled', { organization, reportId: `${n}`, createdAt: at, updatedAt: at }));
};

/** Each kind of listed records, with its name in operation ids, such as `Report`, and the path of its list. */
export const KINDS = KIND_NAMES.map((kind) => {
  const name = kind[0]!.toUpperCase() + kind.slice(1);
  const found = Object.entries(readReference().paths).find(([, { get }]) => get?.operationId === `list${name}s`);
  if (!found) throw new Error(`The reference has no operation list${name}s`);
  return { kind, name, list: found[0] };
});

/** The operations of `REQUESTS` that change the organization's groups and webhooks, and so append to the log. */
export const COMMANDS = [
  'createAssetGroup',
  'renameAssetGroup',
  'deleteAssetGroup',
  'assignAssets',
  'unassignAssets',
  'createWebhook',
  'changeWebhook',
  'deleteWebhook',
  'rotateWebhookSecret',
  'replayWebhook',
] as const;

/**
 * A request for every route that needs a key, by operation id. Different numbers give different requests if possible.
 */
export const REQUESTS: Readonly<Record<string, (n: number, organization: string) => Request>> = {
  checkAsset: (n) => ({ path: '/v2/asset/check', json: { content: `${n}.example` } }),
  checkAssets: (n) => ({ path: '/v2/asset/check/bulk', json: { contents: [`${n}.example`] } }),
  fileDispute: (n) => ({ path: '/v2/asset/disputes', json: { content: `${n}.example` } }),
  getAssetHistory: (n) => ({ path: '/v2/asset/history', json: { content: `${n}.example` } }),
  getOrganization: () => ({ path: '/v2/organization' }),
  listBrands: () => ({ path: '/v2/organization/brands' }),
  getMetrics: (n) => ({ path: `/v2/organization/metrics?endDate=${2000 + n}-01-01` }),
  getTimeline: (n) => ({ path: `/v2/organization/metrics/timeline?interval=year&endDate=${2000 + n}-01-01` }),
  compareMetrics: (n) => ({
    path: `/v2/organization/metrics/comparison?startDate=${2000 + n}-01-01&endDate=${2000 + n}-02-01`,
  }),
  getRestatement: (n) => ({ path: restatement('', n) }),
  listRestatedRecords: (n) => ({ path: restatement('/records', n) }),
  getRestatedRecordsTable: (n) => ({ path: restatement('/records.csv', n) }),
  getFalsePositives: (n) => ({ path: `/v2/organization/metrics/false-positives?endDate=${2000 + n}-01-01` }),
  getTakedownStatistics: (n) => ({ path: `/v2/organization/takedowns/statistics?endDate=${2000 + n}-01-01` }),
  ...Object.fromEntries(
    KINDS.flatMap(({ name, list }) => {
      const upTo = (n: number): string => `?endDate=${2000 + n}-01-01`;
      return [
        [`list${name}s`, (n: number) => ({ path: `${list}${upTo(n)}` })],
        [`get${name}Table`, (n: number) => ({ path: `${list}.csv${upTo(n)}` })],
        [`get${name}`, (n: number) => ({ path: `${list}/record-${n}` })],
      ];
    }),
  ),
  getTimelineTable: (n) => ({ path: `/v2/organization/metrics/timeline.csv?interval=year&endDate=${2000 + n}-01-01` }),
  getFeed: (n) => ({ path: `/v2/organization/feed?limit=${n + 1}` }),
  listAssetGroups: () => ({ path: GROUPS }),
  createAssetGroup: (n) => ({ path: GROUPS, json: { name: `Group ${n}` } }),
  renameAssetGroup: (n) => ({ path: `${GROUPS}/${n + 1}`, method: 'PATCH', json: { name: `Renamed ${n}` } }),
  deleteAssetGroup: (n) => ({ path: `${GROUPS}/${n + 1}`, method: 'DELETE' }),
  getAssetGroup: (n) => ({ path: `${GROUPS}/${n + 1}` }),
  listGroupAssets: (n) => ({ path: `${GROUPS}/${n + 1}/assets` }),
  assignAssets: (n) => ({ path: `${GROUPS}/${n + 1}/assets`, json: { contents: [`${n}.example`] } }),
  unassignAssets: (n) => ({ path: `${GROUPS}/${n + 1}/assets/remove`, json: { contents: [`${n}.example`] } }),
  listRejectedEvents: (n) => ({ path: `/v2/events/rejected?limit=${1 + n}` }),
  listParkedEvents: (n) => ({ path: `/v2/events/parked?limit=${1 + n}` }),
  getEventStatus: (n, organization) => ({
    path: '/v2/events/status',
    json: { events: [{ source: 's', id: `${n}`, type: 'ThreatDeleted', record: { organization, threatId: `${n}` } }] },
  }),
  getEventUsage: (n) => ({
    path: `/v2/events/usage?from=${new Date(Date.now() - n * 86_400_000).toISOString().slice(0, 10)}`,
  }),
  listWebhooks: () => ({ path: WEBHOOKS }),
  createWebhook: (n) => ({ path: WEBHOOKS, json: { url: `https://receiver.example/${n}` } }),
  getWebhook: (n) => ({ path: webhook(n) }),
  changeWebhook: (n) => ({ path: webhook(n), method: 'PATCH', json: { batch: 1 + n } }),
  deleteWebhook: (n) => ({ path: webhook(n), method: 'DELETE' }),
  rotateWebhookSecret: (n) => ({ path: `${webhook(n)}/rotate`, json: {} }),
  testWebhook: (n) => ({ path: `${webhook(n)}/test`, json: {} }),
  replayWebhook: (n) => ({ path: `${webhook(n)}/replay`, json: { from: 'beginning' } }),
  listWebhookAttempts: (n) => ({ path: `${webhook(n)}/attempts` }),
  sendEvents: (n, organization) => ({
    path: '/v2/events',
    json: [report(organization, n)],
    headers: { 'content-type': 'application/cloudevents-batch+json' },
  }),
};
const taxii =
  (path: string) =>
  (n: number): Request => ({ path: `/taxii2/api/collections/threats/${path}?limit=${n}` });
/** The routes of TAXII that read the read models. Their errors have the form that TAXII defines. */
export const TAXII_REQUESTS: Readonly<Record<string, (n: number) => Request>> = {
  getTaxiiManifest: taxii('manifest'),
  getTaxiiObject: taxii('objects/indicator--none'),
  getTaxiiObjects: taxii('objects'),
  getTaxiiVersions: taxii('objects/indicator--none/versions'),
};
/** The routes of TAXII that neither read the read models nor write: descriptions, and refusals. */
export const TAXII_WITHOUT = [
  'deleteTaxiiObject',
  'getTaxiiCollection',
  'getTaxiiDiscovery',
  'getTaxiiRoot',
  'listTaxiiCollections',
  'sendTaxiiObjects',
];
/** Operations that respond without the read models. */
export const ANSWERED_WITHOUT = ['checkAsset', 'checkAssets', 'sendEvents'];
/** Operations that append to the log, and therefore do not wait for the read models. */
export const WRITES = [...COMMANDS, 'fileDispute', 'sendEvents'];
/** This operation sends a webhook instead of returning data of the read models, and needs a receiver. */
export const SENDS = 'testWebhook';
export const READS = Object.keys(REQUESTS).filter((operation) => !WRITES.includes(operation) && operation !== SENDS);
/** These operations compare two states of the log, and name them in `Known-At` instead of a `Consistency-Token`. */
export const ABOUT_THE_PAST = ['getRestatement', 'listRestatedRecords', 'getRestatedRecordsTable'];
/** An organization may run one of these requests at a time, and two of every other request. */
export const ONE_AT_A_TIME = [
  ...COMMANDS,
  ...KINDS.map(({ name }) => `get${name}Table`),
  'getMetrics',
  'getTimeline',
  'getTimelineTable',
  'compareMetrics',
  'getRestatement',
  'listRestatedRecords',
  'getRestatedRecordsTable',
  'getFalsePositives',
  'getTakedownStatistics',
  'fileDispute',
];

/** The ids of all operations of the reference that need a key. */
export const keyedOperations = (): string[] =>
  Object.values(readReference().paths).flatMap((methods) =>
    Object.values(methods).flatMap(({ operationId, security }) =>
      security?.length && operationId ? [operationId] : [],
    ),
  );
