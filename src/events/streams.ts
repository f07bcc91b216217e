import { hash } from 'node:crypto';
import { assetHash } from '../assets/asset-key.js';
import { type DomainEvent, isUpstream } from './event.js';
import { recordOf } from './record.js';
import { isLongerThan } from './declaring/fields.js';

/**
 * Stream names are permanent. In EventStoreDB, the category ends at the first dash. A colon separates organization and
 * id: a slug never contains a colon, and an id may contain colons.
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
  'dispute',
  'disputes',
] as const;

/** The categories whose streams belong to one organization each. */
export const ORGANIZATION_CATEGORIES = CATEGORIES.filter((category) => category !== 'assetStatus');

/** The type of an event whose content was erased. Such an event has empty data and metadata. */
export const ERASED_TYPE = 'Erased';
/** The category of the streams of erased events: each event has a stream of its own, `erased-POSITION`. */
export const ERASED_CATEGORY = 'erased';

export const API_KEYS_STREAM = 'apiKeys';
/** The stream of events about the log itself: its opening, dropped parked events, and erased organizations. */
export const OPERATIONS_STREAM = 'operations';

/** The prefixes of all streams of this service. An event store may contain streams of other services. */
export const STREAM_PREFIXES: readonly string[] = [
  ...[...CATEGORIES, ERASED_CATEGORY].map((category) => `${category}-`),
  API_KEYS_STREAM,
  OPERATIONS_STREAM,
];

export const assetStatusStream = (assetHash: string): string => `assetStatus-${assetHash}`;
export const groupedAssetStream = (organization: string, assetHash: string): string =>
  `groupedAsset-${organization}:${assetHash}`;
export const assetGroupsStream = (organization: string): string => `assetGroups-${organization}`;
/** The disputes that an organization has filed. Each resolution is in a stream of its own, as other upstream events. */
export const disputesStream = (organization: string): string => `disputes-${organization}`;
export const disputeStream = (organization: string, disputeId: string): string =>
  `dispute-${organization}:${disputeId}`;
export const webhooksStream = (organization: string): string => `webhooks-${organization}`;

/** @param hash the `assetHash` of the event's asset. Computed from the content if absent and needed */
export const streamOf = (event: DomainEvent, hash?: string): string => {
  if (isUpstream(event)) {
    // All entries in the status history of an asset share one stream, so that the entries have one order.
    if ('changeId' in event.data) return assetStatusStream(hash ?? assetHash(event.data.asset));
    const { organization, kind, id } = recordOf(event, hash);
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
    case 'DisputeFiled':
      return disputesStream(data.organization);
    case 'ContentRedacted':
      return data.kind === 'assetStatus'
        ? assetStatusStream(hash ?? data.assetHash)
        : `${data.kind}-${data.organization}:${data.id}`;
    case 'ApiKeyIssued':
    case 'ApiKeyRevoked':
      return API_KEYS_STREAM;
    case 'LogOpened':
    case 'ParkedEventDropped':
    case 'ParkedEventRetried':
    case 'StreamsRewritten':
    case 'OrganizationErasureStarted':
    case 'OrganizationErased':
      return OPERATIONS_STREAM;
  }
};

/** Names of streams that belong to one organization. A slug ends at the colon or at the end of the name. */
const OWNED = new RegExp(`^(?:${ORGANIZATION_CATEGORIES.join('|')})-([a-z0-9][a-z0-9-]{0,63})(?::|$)`);

/** Returns the organization that a stream belongs to; undefined if the stream is shared or unknown. */
export const organizationOf = (stream: string): string | undefined => OWNED.exec(stream)?.[1];

/** Names of streams that contain the hash of an asset. */
const HASHED = new RegExp(`^(${assetStatusStream('')}|${groupedAssetStream('[a-z0-9-]+', '')})[0-9a-f]{32}$`);

/**
 * Whether an event may be in this stream. If the stream is named by the hash of an asset, any hash is accepted: a stored
 * event stays in its stream when a later version of the service computes another hash.
 */
export const isStreamOf = (stream: string, event: DomainEvent): boolean =>
  stream === streamOf(event, HASHED.test(stream) ? stream.slice(-32) : '');

/** RFC 9562: the namespace of URLs, 6ba7b811-9dad-11d1-80b4-00c04fd430c8. */
const URL_NAMESPACE = Buffer.from('6ba7b8119dad11d180b400c04fd430c8', 'hex');
const VARIANTS = '89ab';

/** Maximum length of `source` and of `id` in code points. */
export const MAX_ID_LENGTH = 1_024;

/** Control characters. Parts of an event id are joined by newlines, so a newline in a part could make two ids equal. */
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\0-\x1f\x7f-\x9f]/;
/** JSON Schema pattern for the texts that `issueOfId` accepts, without the limit of the length. */
export const ID_PATTERN = String.raw`^[^\u0000-\u001F\u007F-\u009F\uD800-\uDFFF]+$`;

/** Returns why a string cannot be a `source` or `id`; undefined if it can. */
export const issueOfId = (value: string): string | undefined => {
  if (value === '' || isLongerThan(value, MAX_ID_LENGTH)) return `must be 1 to ${MAX_ID_LENGTH} characters`;
  if (CONTROL.test(value)) return 'must not contain control characters';
  return value.isWellFormed() ? undefined : 'must not contain lone surrogates';
};

/**
 * Returns the UUIDv5 in the URL namespace. No library is used, because this function runs for every event and a library
 * takes three times as long.
 */
export const uuidOf = (name: string): string => {
  const bytes = Buffer.allocUnsafe(URL_NAMESPACE.length + Buffer.byteLength(name));
  URL_NAMESPACE.copy(bytes);
  bytes.write(name, URL_NAMESPACE.length);
  const hex = hash('sha1', bytes, 'hex');
  const variant = VARIANTS[Number.parseInt(hex[16]!, 16) & 3]!;
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
};

/** The source in the ids of events that a repeated call of the operator must store only once. */
export const OWN_SOURCE = 'threat-protection';

/**
 * Returns the event id of a CloudEvent: the UUIDv5 (namespace URL) of `source`, `id`, `type` and stream name, joined by
 * newlines. The stream name includes the organization, so that no organization can use an event id of another
 * organization.
 */
export const eventIdOf = (source: string, id: string, type: string, stream: string): string =>
  uuidOf(`${source}\n${id}\n${type}\n${stream}`);

/** Returns the event id as in version 2.0, from `source` and `id` only, for events that are already in a log. */
export const legacyEventIdOf = (source: string, id: string): string => uuidOf(`${source}\n${id}`);
