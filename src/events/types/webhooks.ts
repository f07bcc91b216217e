import { type Declared, ownEvent } from '../declaring/declaration.js';
import { id, instant, oneOf, optional, slug, text, wholeNumber } from '../declaring/fields.js';
import { someOf, upperCaseNames } from '../declaring/list-fields.js';
import { KIND_NAMES } from '../kinds.js';

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
  types: optional(someOf(KIND_NAMES, 'Of these kinds of records only.')),
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

/** An endpoint, as each of its events has it. */
export type Webhook = WebhookEvent['data'];
