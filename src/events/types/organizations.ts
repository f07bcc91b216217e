import { type Declared, upstreamEvent, ownEvent } from '../declaring/declaration.js';
import {
  boolean,
  instant,
  optional,
  slug,
  text,
  asset,
  wholeNumber,
  id,
  oneOf,
  someOf,
  upperCaseNames,
} from '../declaring/fields.js';
import { KIND_NAMES } from '../listed-items.js';
import { limit } from '../../limits.js';

/** The full state of a brand, except whether it is registered, which the event type determines. */
const fields = {
  organization: slug('The organization that owns the brand.'),
  brand: slug('Identifies the brand within the organization. Metrics queries use this value as `brandSlug`.'),
  name: optional(text(255, 'The display name.')),
  updatedAt: instant('When the brand entered this state.'),
};

export const brandRegistered = upstreamEvent('BrandRegistered', {
  description: 'A brand of an organization was registered or renamed. The event contains the full state of the brand.',
  fields,
  example: { organization: 'acme', brand: 'metamask', name: 'MetaMask', updatedAt: '2026-02-01T10:00:00.000Z' },
});
export type BrandRegistered = Declared<typeof brandRegistered>;

export const brandRemoved = upstreamEvent('BrandRemoved', {
  description:
    'A brand was removed, and its metrics are no longer available. A later `BrandRegistered` restores the brand.',
  fields,
  example: { organization: 'acme', brand: 'old-wallet', name: 'Old Wallet', updatedAt: '2026-02-15T10:00:00.000Z' },
});
export type BrandRemoved = Declared<typeof brandRemoved>;

export const featureFlagChanged = upstreamEvent('FeatureFlagChanged', {
  description: 'A feature flag of an organization was turned on or off.',
  fields: {
    organization: slug('The organization.'),
    flag: text(64, 'The name of the flag. `brands-metrics` enables metrics by brand.'),
    enabled: boolean('Whether the flag is on.'),
    updatedAt: instant('When the flag entered this state.'),
  },
  example: { organization: 'acme', flag: 'brands-metrics', enabled: true, updatedAt: '2026-02-01T10:00:00.000Z' },
});
export type FeatureFlagChanged = Declared<typeof featureFlagChanged>;

export const assetGrouped = upstreamEvent('AssetGrouped', {
  description: 'An asset was added to a group. The asset leaves its previous group in the organization.',
  fields: {
    organization: slug('The organization that owns the group.'),
    groupId: wholeNumber(
      1,
      'The id of the group. If no group has this id yet, the asset counts as soon as a group with this id is created.',
    ),
    asset: asset('The grouped asset.'),
    updatedAt: instant('When the asset was added to this group.'),
  },
  example: {
    organization: 'acme',
    groupId: 1,
    asset: { type: 'URL', content: 'metamask-login.example' },
    updatedAt: '2026-03-01T13:00:00.000Z',
  },
});

export const assetUngrouped = upstreamEvent('AssetUngrouped', {
  description: 'An asset was removed from its group. The asset is now in no group of the organization.',
  fields: {
    organization: slug('The organization that owned the group.'),
    asset: asset('The removed asset.'),
    updatedAt: instant('When the asset was removed from its group.'),
  },
  example: {
    organization: 'acme',
    asset: { type: 'TWITTER', content: 'https://x.com/metamask_airdrop' },
    updatedAt: '2026-03-01T13:05:00.000Z',
  },
});

export const assetGroupCreated = ownEvent('AssetGroupCreated', {
  organization: slug('The organization that owns the group.'),
  groupId: wholeNumber(1, 'Unique within the organization, never reused.'),
  name: text(255, 'Unique within the organization at any time.'),
  createdAt: instant('When the group was created.'),
});
export type AssetGroupCreated = Declared<typeof assetGroupCreated>;

export const assetGroupRenamed = ownEvent('AssetGroupRenamed', {
  organization: slug('The organization that owns the group.'),
  groupId: wholeNumber(1, 'The id of the group.'),
  name: text(255, 'The new name of the group.'),
  updatedAt: instant('When the group was renamed.'),
});
export type AssetGroupRenamed = Declared<typeof assetGroupRenamed>;

export const assetGroupDeleted = ownEvent('AssetGroupDeleted', {
  organization: slug('The organization that owned the group.'),
  groupId: wholeNumber(1, 'The id of the group.'),
  deletedAt: instant('When the group was deleted.'),
});
export type AssetGroupDeleted = Declared<typeof assetGroupDeleted>;

/**
 * A group was not created because its name was taken. Recorded only if the client sent an `Idempotency-Key`, so that a
 * repeated request gets the same response.
 */
export const assetGroupRefused = ownEvent('AssetGroupRefused', {
  organization: slug('The organization that would have owned the group.'),
  name: text(255, 'The name that was taken.'),
  createdAt: instant('When the request was refused.'),
});
export type AssetGroupRefused = Declared<typeof assetGroupRefused>;

/**
 * Why an endpoint was disabled. `gone`: the endpoint responded with 410. `failing`: no delivery succeeded for 5 days.
 */
export const DISABLED_REASONS = ['requested', 'gone', 'failing'] as const;
export type DisabledReason = (typeof DISABLED_REASONS)[number];

/** Maximum length of a URL in UTF-16 units. */
export const MAX_URL = 2_048;
/** Maximum number of records in a delivery. */
export const MAX_BATCH = limit('delivery', 100, 'records', 'request', 'the delivery has fewer records');
/** Maximum number of names in one filter. */
export const MAX_NAMES = 50;

/**
 * The full state of an endpoint after the event. Each event has all fields, so that the newest event alone determines
 * the endpoint.
 */
const endpoint = {
  organization: slug('The organization that owns the endpoint.'),
  webhookId: id('Identifies the endpoint; never reused.'),
  url: text(MAX_URL, 'The URL that deliveries are sent to.'),
  types: optional(someOf(KIND_NAMES, 'Delivers only records of these kinds.')),
  assetTypes: optional(upperCaseNames(MAX_NAMES, 'Delivers only records about assets of these types.')),
  statuses: optional(upperCaseNames(MAX_NAMES, 'Delivers only records with these statuses.')),
  batch: wholeNumber(1, 'Maximum number of records in a delivery.'),
  description: optional(text(255, 'The description given by the organization.')),
  state: oneOf(['ACTIVE', 'DISABLED', 'DELETED'], 'Whether the endpoint receives deliveries.'),
  disabledReason: optional(oneOf(DISABLED_REASONS, 'Why the endpoint is disabled.')),
  generation: wholeNumber(1, 'The generation of the secret that signs deliveries.'),
  masterKey: id('The id of the master key that the secret is derived from. The secret itself is never stored.'),
  previousGeneration: optional(wholeNumber(1, 'The generation of the previous secret.')),
  previousMasterKey: optional(id('The master key of the previous secret.')),
  previousUntil: optional(instant('When the previous secret stops signing deliveries.')),
  startAfter: wholeNumber(
    -1,
    'The position in the log after which deliveries start; -1 means the beginning of the log.',
  ),
  startLog: id('The id of the log that `startAfter` refers to.'),
  replay: wholeNumber(0, 'How often the cursor was moved by a replay.'),
  createdAt: instant('When the endpoint was created.'),
  updatedAt: instant('When the endpoint reached this state.'),
  idempotencyKeyHash: optional(id('SHA-256 of the `Idempotency-Key` of the request that created the endpoint, hex.')),
  bodyHash: optional(id('SHA-256 of the body of the request that created the endpoint, hex.')),
};

const webhookCreated = ownEvent('WebhookCreated', endpoint);
const webhookChanged = ownEvent('WebhookChanged', endpoint);
const webhookDisabled = ownEvent('WebhookDisabled', endpoint);
const webhookEnabled = ownEvent('WebhookEnabled', endpoint);
const webhookSecretRotated = ownEvent('WebhookSecretRotated', endpoint);
const webhookReplayed = ownEvent('WebhookReplayed', endpoint);
const webhookDeleted = ownEvent('WebhookDeleted', endpoint);

export const WEBHOOK_EVENTS = [
  webhookCreated,
  webhookChanged,
  webhookDisabled,
  webhookEnabled,
  webhookSecretRotated,
  webhookReplayed,
  webhookDeleted,
] as const;
export const WEBHOOK_TYPES = WEBHOOK_EVENTS.map(({ type }) => type);

export type WebhookEvent = Declared<(typeof WEBHOOK_EVENTS)[number]>;

/** The state of an endpoint. */
export type Webhook = WebhookEvent['data'];

/**
 * `read`: metrics, asset checks and lists of groups. `write`: changes of groups. `ingest`: sending events. `lists`: local
 * lists.
 */
export const SCOPES = ['read', 'write', 'ingest', 'lists'] as const;
export type Scope = (typeof SCOPES)[number];

export const apiKeyIssued = ownEvent('ApiKeyIssued', {
  keyId: id('Identifies the key.'),
  keyHash: id('SHA-256 of the key, hex. The key itself is never stored.'),
  name: optional(text(255, 'The name given by the operator.')),
  organization: optional(
    slug('The organization of the key. Absent if the key belongs to no organization (`ingest` or `lists` only).'),
  ),
  scopes: someOf(SCOPES, 'What the key may be used for.'),
  createdAt: instant('When the key was issued.'),
  expiresAt: optional(instant('When the key expires.')),
});
export type ApiKeyIssued = Declared<typeof apiKeyIssued>;

export const apiKeyRevoked = ownEvent('ApiKeyRevoked', {
  keyId: id('The revoked key.'),
  revokedAt: instant('When the key was revoked.'),
});
export type ApiKeyRevoked = Declared<typeof apiKeyRevoked>;
