import type { Scope } from '../../../src/events/types/api-keys.js';
import { LARGE_ORGANIZATION, WEBHOOK } from './scene.js';
import { TOKEN } from './token.js';

/** What is sent. */
export interface Ask {
  /** Values for the braces of the path. */
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON; a text is sent as it is. */
  readonly body?: unknown;
  readonly organization?: string;
}

/** One answer that an operation is shown with. */
export interface Case extends Ask {
  readonly status: number;
  /** Which case it is, for the person who reads the reference. */
  readonly summary: string;
  /** Asked of the service whose database is away. */
  readonly away?: true;
  /** Asked of the service with small limits, by a key of the organization. */
  readonly limited?: true;
}

export interface Operation {
  readonly id: string;
  /** The scope it takes, or none. */
  readonly scope?: Scope;
  /** The first is a good request; the refusals that every route shares are made of it. */
  readonly cases: readonly Case[];
}

const SOURCE = 'https://upstream.example/threats';
const event = (id: string, type: string, time: string, data: object): object => ({
  specversion: '1.0',
  id,
  source: SOURCE,
  type,
  time,
  data: { organization: 'acme', ...data },
});

const threat = (id: string, type: string, content: string, status: string, createdAt: string): object =>
  event(`${id}-${status.toLowerCase()}`, 'ThreatStatusChanged', createdAt, {
    threatId: id,
    asset: { type, content },
    status,
    createdAt,
    updatedAt: createdAt,
  });
/** What happened when its state was set. */
const state = (id: string, type: string, updatedAt: string, data: object): object =>
  event(id, type, updatedAt, { ...data, updatedAt });

const BATCH = [
  state('brand-acme-wallet', 'BrandRegistered', '2026-01-01T08:00:00.000Z', {
    brand: 'acme-wallet',
    name: 'Acme Wallet',
  }),
  state('flag-brands', 'FeatureFlagChanged', '2026-01-01T08:00:00.000Z', { flag: 'brands-metrics', enabled: true }),
  threat('threat-2', 'TWITTER', 'https://x.com/acme_giveaway', 'BLOCKED', '2026-03-01T09:30:00.000Z'),
  threat('threat-3', 'URL', 'acme-airdrop.example', 'BLOCKED', '2026-03-02T10:00:00.000Z'),
  threat('threat-4', 'TELEGRAM', 'https://t.me/acme_help', 'WATCHLISTED', '2026-03-02T11:00:00.000Z'),
  state('report-1-filed', 'ReportFiled', '2026-03-02T07:00:00.000Z', {
    reportId: 'report-1',
    brands: ['acme-wallet'],
    createdAt: '2026-03-02T07:00:00.000Z',
  }),
  state('takedown-1-filed', 'TakedownFiled', '2026-03-02T12:00:00.000Z', {
    takedownId: 'takedown-1',
    brand: 'acme-wallet',
    asset: { type: 'URL', content: 'acme-airdrop.example' },
    status: 'COMPLETED',
    createdAt: '2026-03-02T12:00:00.000Z',
  }),
  state('grouped-1', 'AssetGrouped', '2026-03-02T13:00:00.000Z', {
    groupId: 1,
    asset: { type: 'URL', content: 'acme-airdrop.example' },
  }),
  {
    specversion: '1.0',
    id: 'change-1',
    source: SOURCE,
    type: 'AssetStatusChanged',
    time: '2026-03-02T14:00:00.000Z',
    data: {
      changeId: 'change-1',
      asset: { type: 'URL', content: 'acme-airdrop.example' },
      status: 'BLOCKED',
      brandReviews: [{ organization: 'acme', brand: 'acme-wallet' }],
      createdAt: '2026-03-02T14:00:00.000Z',
    },
  },
];
const ONE = threat('threat-1', 'URL', 'phishing.example', 'APPROVED', '2026-03-01T12:00:00.000Z');
const WRONG = {
  ...threat('threat-5', 'URL', 'phishing.example', 'BLOCKED', '2026-03-01T12:00:00.000Z'),
  time: 'yesterday',
};

const JSON_BATCH = { 'content-type': 'application/cloudevents-batch+json' };
const JSON_EVENT = { 'content-type': 'application/cloudevents+json' };
const NO_BODY = { 'content-type': 'application/json' };

const MARCH = 'startDate=2026-03-01&endDate=2026-03-31';
const counted = (query: string): Case[] => [
  { status: 200, summary: 'The whole organization in a month', query },
  { status: 304, summary: 'The client already has the content', query, headers: { 'if-none-match': '*' } },
  { status: 400, summary: 'An invalid date', query: query.replace('2026-03-31', '2026-02-30') },
  { status: 404, summary: 'An unregistered brand', query: `${query}&brandSlug=nobody` },
];
const TOO_MANY_COUNTS: Case = {
  status: 422,
  summary: 'Too many counts by type',
  query: `${MARCH}&interval=day`,
  organization: LARGE_ORGANIZATION,
};
const TOO_MANY_ROWS: Case = {
  status: 422,
  summary: 'Too many rows',
  organization: LARGE_ORGANIZATION,
};

/** Each kind of record: one there is, one there is not, and what a table of them is filtered by. */
const LISTS = [
  { kind: 'Report', id: 'report-1', missing: 'report-17', filter: 'brandSlug=acme-wallet' },
  { kind: 'Threat', id: 'threat-3', missing: 'threat-17', filter: 'status=BLOCKED&assetType=TWITTER,URL' },
  { kind: 'Takedown', id: 'takedown-1', missing: 'takedown-17', filter: 'status=COMPLETED' },
  { kind: 'Verdict', id: 'change-1', missing: 'change-17', filter: 'content=https://acme-airdrop.example' },
] as const;

const NEW_WEBHOOK = {
  url: 'https://acme.example/webhooks/threats',
  types: ['threat', 'takedown'],
  statuses: ['BLOCKED', 'COMPLETED'],
  description: 'Blocks at our gateway',
};
const NO_WEBHOOK = { status: 404, summary: 'No such webhook', path: { id: 'wh_17' } } as const;

const WEBHOOKS: readonly Operation[] = [
  {
    id: 'createWebhook',
    scope: 'write',
    cases: [
      { status: 201, summary: 'A new webhook', headers: { 'idempotency-key': 'w-1' }, body: NEW_WEBHOOK },
      { status: 201, summary: 'The same request again', headers: { 'idempotency-key': 'w-1' }, body: NEW_WEBHOOK },
      { status: 400, summary: 'An address in a private network', body: { url: 'https://10.0.0.1/' } },
      {
        status: 409,
        summary: 'The organization has ten webhooks',
        body: NEW_WEBHOOK,
        organization: LARGE_ORGANIZATION,
      },
      {
        status: 422,
        summary: 'An Idempotency-Key with another body',
        headers: { 'idempotency-key': 'w-1' },
        body: { ...NEW_WEBHOOK, batch: 100 },
      },
    ],
  },
  { id: 'listWebhooks', scope: 'read', cases: [{ status: 200, summary: 'Two webhooks, one of them failing' }] },
  {
    id: 'getWebhook',
    scope: 'read',
    cases: [{ status: 200, summary: 'A failing webhook', path: { id: WEBHOOK } }, NO_WEBHOOK],
  },
  {
    id: 'changeWebhook',
    scope: 'write',
    cases: [
      {
        status: 200,
        summary: 'Set a batch size and remove a filter',
        path: { id: WEBHOOK },
        body: { batch: 100, types: null },
      },
      { status: 200, summary: 'Disable the webhook', path: { id: WEBHOOK }, body: { state: 'DISABLED' } },
      { status: 400, summary: 'A batch size that is too large', path: { id: WEBHOOK }, body: { batch: 1_000 } },
      { ...NO_WEBHOOK, body: { batch: 100 } },
    ],
  },
  {
    id: 'rotateWebhookSecret',
    scope: 'write',
    cases: [
      { status: 200, summary: 'A new secret', path: { id: WEBHOOK }, body: {} },
      { status: 200, summary: 'A leaked secret is replaced', path: { id: WEBHOOK }, body: { force: true } },
      { status: 400, summary: 'A body that is not JSON', path: { id: WEBHOOK }, body: '{' },
      { ...NO_WEBHOOK, body: {} },
      { status: 409, summary: 'Two secrets are in use', path: { id: WEBHOOK }, body: {} },
    ],
  },
  {
    id: 'testWebhook',
    scope: 'write',
    cases: [
      { status: 200, summary: 'The endpoint responded', path: { id: WEBHOOK } },
      { status: 400, summary: 'A body that is not JSON', path: { id: WEBHOOK }, body: '{' },
      NO_WEBHOOK,
    ],
  },
  {
    id: 'replayWebhook',
    scope: 'write',
    cases: [
      { status: 200, summary: 'All changes', path: { id: WEBHOOK }, body: { from: 'beginning' } },
      { status: 400, summary: 'No start time', path: { id: WEBHOOK }, body: {} },
      { ...NO_WEBHOOK, body: { from: 'beginning' } },
    ],
  },
  {
    id: 'listWebhookAttempts',
    scope: 'read',
    cases: [
      { status: 200, summary: 'A failure after a success', path: { id: WEBHOOK } },
      { status: 400, summary: 'An invalid limit', path: { id: WEBHOOK }, query: 'limit=0' },
      NO_WEBHOOK,
    ],
  },
  {
    id: 'deleteWebhook',
    scope: 'write',
    cases: [
      { status: 200, summary: 'Deleted', path: { id: WEBHOOK } },
      { status: 400, summary: 'A body that is not JSON', path: { id: WEBHOOK }, body: '{' },
      { status: 404, summary: 'Deleted already', path: { id: WEBHOOK } },
    ],
  },
];

/** In the order in which they are asked: each leaves to the next what it has changed. */
export const OPERATIONS: readonly Operation[] = [
  {
    id: 'sendEvents',
    scope: 'ingest',
    cases: [
      { status: 200, summary: 'One event', headers: JSON_EVENT, body: ONE },
      { status: 200, summary: 'A batch with a duplicate', headers: JSON_BATCH, body: [ONE, ...BATCH] },
      {
        status: 200,
        summary: 'A dry run with two events',
        query: 'dryRun=true',
        headers: JSON_BATCH,
        body: [
          threat('threat-7', 'URL', 'acme-login.example', 'BLOCKED', '2026-03-03T09:30:00.000Z'),
          threat('threat-3', 'URL', 'acme-airdrop.example', 'PENDING', '2026-03-02T09:00:00.000Z'),
        ],
      },
      { status: 200, summary: 'A batch with a rejected event', headers: JSON_BATCH, body: [ONE, WRONG] },
      {
        status: 200,
        summary: 'An event that looks like a mistake',
        headers: JSON_EVENT,
        body: threat('threat-6', 'ADDRESS', 'acme.example', 'PENDING', '2026-03-02T15:00:00.000Z'),
      },
      { status: 400, summary: 'A batch with only rejected events', headers: JSON_BATCH, body: [WRONG] },
      { status: 400, summary: 'JSON without ce- headers', headers: NO_BODY, body: ONE },
      {
        status: 429,
        summary: 'The daily quota is used up',
        headers: JSON_BATCH,
        body: BATCH.slice(2, 5),
        organization: 'acme',
        limited: true,
      },
    ],
  },
  {
    id: 'listRejectedEvents',
    scope: 'ingest',
    cases: [
      { status: 200, summary: 'The rejections of the events sent', query: 'limit=1' },
      { status: 400, summary: 'An unknown reason', query: 'reason=bad-luck' },
    ],
  },
  {
    id: 'listParkedEvents',
    scope: 'ingest',
    cases: [
      { status: 200, summary: 'No parked events' },
      { status: 400, summary: 'An invalid cursor', query: 'cursor=42' },
    ],
  },
  {
    id: 'getEventUsage',
    scope: 'ingest',
    cases: [
      { status: 200, summary: 'The usage of a key without an organization' },
      { status: 200, summary: 'An organization without events, with its quota', organization: 'acme' },
      { status: 400, summary: 'An invalid day', query: 'from=yesterday' },
    ],
  },
  {
    id: 'getEventStatus',
    scope: 'ingest',
    cases: [
      {
        status: 200,
        summary: 'A counted event and an unknown event',
        body: {
          events: [
            {
              source: SOURCE,
              id: 'threat-1-approved',
              type: 'ThreatStatusChanged',
              record: { organization: 'acme', threatId: 'threat-1' },
            },
            { source: SOURCE, id: 'x', type: 'ThreatDeleted', record: { organization: 'acme', threatId: 'threat-17' } },
          ],
        },
      },
      { status: 400, summary: 'No events', body: {} },
    ],
  },
  {
    id: 'createAssetGroup',
    scope: 'write',
    cases: [
      { status: 201, summary: 'A new group', headers: { 'idempotency-key': 'a-1' }, body: { name: 'Landing pages' } },
      {
        status: 201,
        summary: 'The same request again',
        headers: { 'idempotency-key': 'a-1' },
        body: { name: 'Landing pages' },
      },
      { status: 201, summary: 'Another group', body: { name: 'Profiles' } },
      { status: 400, summary: 'No name', body: {} },
      { status: 400, summary: 'An empty name', body: { name: '' } },
      { status: 409, summary: 'The name is taken', headers: { 'idempotency-key': 'a-2' }, body: { name: 'Profiles' } },
      {
        status: 409,
        summary: 'The same request again',
        headers: { 'idempotency-key': 'a-2' },
        body: { name: 'Profiles' },
      },
      {
        status: 422,
        summary: 'An Idempotency-Key with another body',
        headers: { 'idempotency-key': 'a-1' },
        body: { name: 'Shops' },
      },
    ],
  },
  { id: 'listAssetGroups', scope: 'read', cases: [{ status: 200, summary: 'Two groups' }] },
  {
    id: 'assignAssets',
    scope: 'write',
    cases: [
      {
        status: 200,
        summary: 'Three contents: one already in the group, one not an asset',
        path: { id: '1' },
        body: { contents: ['https://phishing.example', 'acme-airdrop.example', '¯\\_(ツ)_/¯'] },
      },
      {
        status: 200,
        summary: 'An asset of another group',
        path: { id: '2' },
        body: { contents: ['phishing.example'] },
      },
      { status: 400, summary: 'No contents', path: { id: '1' }, body: {} },
      { status: 404, summary: 'No such group', path: { id: '17' }, body: { contents: ['phishing.example'] } },
    ],
  },
  {
    id: 'listGroupAssets',
    scope: 'read',
    cases: [
      { status: 200, summary: 'A first page with one asset', path: { id: '1' }, query: 'limit=1' },
      { status: 200, summary: 'The only page', path: { id: '2' } },
      { status: 400, summary: 'An invalid limit', path: { id: '1' }, query: 'limit=0' },
      { status: 404, summary: 'No such group', path: { id: '17' } },
    ],
  },
  {
    id: 'unassignAssets',
    scope: 'write',
    cases: [
      { status: 200, summary: 'One asset', path: { id: '2' }, body: { contents: ['phishing.example'] } },
      { status: 400, summary: 'No contents', path: { id: '1' }, body: {} },
      { status: 404, summary: 'No such group', path: { id: '17' }, body: { contents: ['phishing.example'] } },
    ],
  },
  {
    id: 'getAssetGroup',
    scope: 'read',
    cases: [
      { status: 200, summary: 'One group', path: { id: '1' } },
      { status: 404, summary: 'No such group', path: { id: '17' } },
    ],
  },
  {
    id: 'renameAssetGroup',
    scope: 'write',
    cases: [
      { status: 200, summary: 'A new name', path: { id: '2' }, body: { name: 'Impersonators' } },
      { status: 400, summary: 'No name', path: { id: '2' }, body: {} },
      { status: 404, summary: 'No such group', path: { id: '17' }, body: { name: 'Shops' } },
      { status: 409, summary: 'The name is taken', path: { id: '2' }, body: { name: 'Landing pages' } },
    ],
  },
  { id: 'getOrganization', scope: 'read', cases: [{ status: 200, summary: 'The key and its organization' }] },
  { id: 'listBrands', scope: 'read', cases: [{ status: 200, summary: 'One brand' }] },
  {
    id: 'getMetrics',
    scope: 'read',
    cases: [
      ...counted(MARCH),
      {
        status: 200,
        summary: 'A request with a Consistency-Token',
        query: MARCH,
        headers: { 'consistency-token': TOKEN, prefer: 'wait=10' },
      },
      { status: 200, summary: 'One brand', query: `${MARCH}&brandSlug=acme-wallet` },
      { status: 422, summary: 'Too many days', organization: LARGE_ORGANIZATION },
    ],
  },
  {
    id: 'getTimeline',
    scope: 'read',
    cases: [...counted(`${MARCH}&interval=week`), TOO_MANY_COUNTS],
  },
  { id: 'getTimelineTable', scope: 'read', cases: [...counted(`${MARCH}&interval=week`), TOO_MANY_COUNTS] },
  {
    id: 'getTakedownStatistics',
    scope: 'read',
    cases: [
      ...counted(MARCH),
      { status: 422, summary: 'Too many asset types', query: MARCH, organization: LARGE_ORGANIZATION },
    ],
  },
  { id: 'compareMetrics', scope: 'read', cases: counted(MARCH) },
  ...LISTS.map(({ kind, filter }): Operation => ({
    id: `list${kind}s`,
    scope: 'read',
    cases: [
      { status: 200, summary: 'A page', query: `${MARCH}&limit=1` },
      { status: 200, summary: 'Filtered', query: filter },
      { status: 304, summary: 'The client already has the content', query: MARCH, headers: { 'if-none-match': '*' } },
      { status: 400, summary: 'An invalid limit', query: 'limit=0' },
      ...(kind === 'Threat' ? [] : [{ status: 404, summary: 'An unregistered brand', query: 'brandSlug=nobody' }]),
      { ...TOO_MANY_ROWS, headers: { accept: 'text/csv' } },
    ],
  })),
  ...LISTS.map(({ kind, filter }): Operation => ({
    id: `get${kind}Table`,
    scope: 'read',
    cases: [
      { status: 200, summary: 'A table', query: filter },
      { status: 400, summary: 'An invalid date', query: 'startDate=2026-02-30' },
      ...(kind === 'Threat' ? [] : [{ status: 404, summary: 'An unregistered brand', query: 'brandSlug=nobody' }]),
      TOO_MANY_ROWS,
    ],
  })),
  ...LISTS.map(({ kind, id, missing }): Operation => ({
    id: `get${kind}`,
    scope: 'read',
    cases: [
      { status: 200, summary: 'One record', path: { id } },
      { status: 304, summary: 'The client already has the content', path: { id }, headers: { 'if-none-match': '*' } },
      { status: 404, summary: 'No such record', path: { id: missing } },
    ],
  })),
  {
    id: 'getFeed',
    scope: 'read',
    cases: [
      { status: 200, summary: 'The first two changes', query: 'limit=2' },
      { status: 200, summary: 'Reports only', query: 'types=report' },
      { status: 400, summary: 'An invalid id', query: 'lastEventId=42' },
      { status: 410, summary: 'An id from another log', query: 'lastEventId=AAAAAAAA.AAAAAAAAAAAAAAAAAAAAAA' },
    ],
  },
  ...WEBHOOKS,
  {
    id: 'checkAsset',
    scope: 'read',
    cases: [
      { status: 200, summary: 'A listed asset', body: { content: 'https://polkadot-dot.info/claim' } },
      {
        status: 200,
        summary: 'A page of a listed domain',
        body: { content: 'hxxps://wallet[.]polkadot-dot[.]info' },
      },
      { status: 200, summary: 'An unlisted asset', body: { content: 'https://example.org' } },
      { status: 200, summary: 'Not an asset', body: { content: '¯\\_(ツ)_/¯' } },
      { status: 400, summary: 'No content', body: {} },
    ],
  },
  {
    id: 'checkAssets',
    scope: 'read',
    cases: [
      {
        status: 200,
        summary: 'Two assets',
        body: { contents: ['https://polkadot-dot.info/claim', 'https://example.org'] },
      },
      { status: 400, summary: 'No contents', body: { contents: [] } },
    ],
  },
  {
    id: 'getAssetHistory',
    scope: 'read',
    cases: [
      {
        status: 200,
        summary: 'An asset with a status of this service',
        body: { content: 'https://acme-airdrop.example' },
      },
      { status: 400, summary: 'No content', body: {} },
    ],
  },
  {
    id: 'deleteAssetGroup',
    scope: 'write',
    cases: [
      { status: 200, summary: 'Deleted', path: { id: '1' } },
      { status: 400, summary: 'A body that is not JSON', path: { id: '1' }, body: '{' },
      { status: 404, summary: 'Deleted already', path: { id: '1' } },
    ],
  },
  { id: 'getLiveness', cases: [{ status: 200, summary: 'The process responds' }] },
  {
    id: 'getReadiness',
    cases: [
      { status: 200, summary: 'Ready' },
      { status: 503, summary: 'The database is unavailable', away: true },
    ],
  },
  { id: 'getPrometheusMetrics', cases: [{ status: 200, summary: 'One metric' }] },
];
