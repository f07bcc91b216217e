import { type Declared, ownEvent } from '../declaring/declaration.js';
import { id, instant, oneOf, optional, slug, text, wholeNumber } from '../declaring/fields.js';
import { someOf, upperCaseNames } from '../declaring/list-fields.js';
import { FEED_KINDS } from '../feed-schema.js';

/** Why an endpoint was disabled. `gone`: it answered 410. `failing`: 5 days without a success. */
export const DISABLED_REASONS = ['requested', 'gone', 'failing'] as const;
export type DisabledReason = (typeof DISABLED_REASONS)[number];

/** UTF-16 units of an address. */
export const MAX_URL = 2_048;
export const MAX_BATCH = 100;
/** Names of one filter. */
export const MAX_NAMES = 50;

/**
 * An endpoint after the event. Each event has all of it, so that the newest one is the endpoint, and whoever passes over
 * one of the others misses nothing.
 */
const endpoint = {
  organization: slug('The organization that is told.'),
  webhookId: id('Identifies the endpoint; never reused.'),
  url: text(MAX_URL, 'Where it is told.'),
  types: optional(someOf(FEED_KINDS, 'Of these kinds of records only.')),
  assetTypes: optional(upperCaseNames(MAX_NAMES, 'Of records about assets of these types only.')),
  statuses: optional(upperCaseNames(MAX_NAMES, 'Of records in these statuses only.')),
  batch: wholeNumber(1, 'Records of a delivery, at most.'),
  description: optional(text(255, 'What the organization calls it.')),
  state: oneOf(['ACTIVE', 'DISABLED', 'DELETED'], 'Whether it is told.'),
  disabledReason: optional(oneOf(DISABLED_REASONS, 'Of a disabled one: why.')),
  generation: wholeNumber(1, 'Which of its secrets signs.'),
  masterKey: id('The id of the master key that the secret is derived from. The secret itself is never stored.'),
  previousGeneration: optional(wholeNumber(1, 'The secret before it.')),
  previousMasterKey: optional(id('The master key of that one.')),
  previousUntil: optional(instant('Until when that one signs too.')),
  startAfter: wholeNumber(-1, 'The position in the log after which it begins; -1: the beginning.'),
  startLog: id('The id of the log in which that is a position.'),
  replay: wholeNumber(0, 'How often its cursor was set back.'),
  createdAt: instant('When it was created.'),
  updatedAt: instant('When it became like this.'),
  idempotencyKeyHash: optional(id('SHA-256 of the `Idempotency-Key` it was created with, hex.')),
  bodyHash: optional(id('SHA-256 of the body it was created with, hex.')),
};

export const webhookCreated = ownEvent('WebhookCreated', endpoint);
export const webhookChanged = ownEvent('WebhookChanged', endpoint);
export const webhookDisabled = ownEvent('WebhookDisabled', endpoint);
export const webhookEnabled = ownEvent('WebhookEnabled', endpoint);
export const webhookSecretRotated = ownEvent('WebhookSecretRotated', endpoint);
export const webhookReplayed = ownEvent('WebhookReplayed', endpoint);
export const webhookDeleted = ownEvent('WebhookDeleted', endpoint);

export type WebhookEvent = Declared<
  | typeof webhookCreated
  | typeof webhookChanged
  | typeof webhookDisabled
  | typeof webhookEnabled
  | typeof webhookSecretRotated
  | typeof webhookReplayed
  | typeof webhookDeleted
>;

/** An endpoint, as each of its events has it. */
export type Webhook = WebhookEvent['data'];

export const WEBHOOK_TYPES = [
  'WebhookCreated',
  'WebhookChanged',
  'WebhookDisabled',
  'WebhookEnabled',
  'WebhookSecretRotated',
  'WebhookReplayed',
  'WebhookDeleted',
] as const satisfies readonly WebhookEvent['type'][];
