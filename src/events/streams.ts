import { assetHash } from '../assets/asset-key.js';
import { type DomainEvent, isUpstream } from './event.js';
import { recordOf } from './record.js';

/**
 * Stream names are permanent. EventStoreDB ends the category at the first dash; the colon separates organizations,
 * because slugs have no colon while ids may.
 */
export const CATEGORIES = [
  'threat',
  'takedown',
  'report',
  'brand',
  'featureFlag',
  'assetStatus',
  'groupedAsset',
  'assetGroups',
  'webhooks',
] as const;

export const API_KEYS_STREAM = 'apiKeys';
/** Operators' changes to the log itself: `LogOpened`, `ParkedEventDropped`. */
export const OPERATIONS_STREAM = 'operations';

/** Prefixes of all streams of this service; an event store may contain others. */
export const STREAM_PREFIXES: readonly string[] = [
  ...CATEGORIES.map((category) => `${category}-`),
  API_KEYS_STREAM,
  OPERATIONS_STREAM,
];

export const assetStatusStream = (assetHash: string): string => `assetStatus-${assetHash}`;
export const groupedAssetStream = (organization: string, assetHash: string): string =>
  `groupedAsset-${organization}:${assetHash}`;
export const assetGroupsStream = (organization: string): string => `assetGroups-${organization}`;
export const webhooksStream = (organization: string): string => `webhooks-${organization}`;

export const streamOf = (event: DomainEvent): string => {
  if (isUpstream(event)) {
    // The history of an asset has one order, whichever of its entries an event is about.
    if ('changeId' in event.data) return assetStatusStream(assetHash(event.data.asset));
    const { organization, kind, id } = recordOf(event);
    return `${kind}-${organization}:${id}`;
  }
  const { type, data } = event;
  switch (type) {
    case 'AssetGroupCreated':
    case 'AssetGroupRenamed':
    case 'AssetGroupDeleted':
    case 'AssetGroupRefused':
      return assetGroupsStream(data.organization);
    case 'WebhookCreated':
    case 'WebhookChanged':
    case 'WebhookDisabled':
    case 'WebhookEnabled':
    case 'WebhookSecretRotated':
    case 'WebhookReplayed':
    case 'WebhookDeleted':
      return webhooksStream(data.organization);
    case 'ApiKeyIssued':
    case 'ApiKeyRevoked':
      return API_KEYS_STREAM;
    case 'LogOpened':
    case 'ParkedEventDropped':
      return OPERATIONS_STREAM;
  }
};

/** Streams named by an asset's hash. */
const HASHED = new RegExp(`^(${assetStatusStream('')}|${groupedAssetStream('[a-z0-9-]+', '')})[0-9a-f]{32}$`);

/**
 * Whether an event may be in a stream that is not quite the one due: a library update may change which spellings of an
 * asset share a hash, so only the form of a hash is checked.
 */
export const isSameStream = (actual: string, due: string): boolean =>
  actual === due || (HASHED.test(actual) && HASHED.test(due) && actual.slice(0, -32) === due.slice(0, -32));
