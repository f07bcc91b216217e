import { type Declared, ownEvent } from '../declaring/declaration.js';
import { id, instant, oneOf, optional, slug, text, wholeNumber } from '../declaring/fields.js';
import { someOf, upperCaseNames } from '../declaring/list-fields.js';
import { KIND_NAMES } from '../listed-items.js';

/**
 * Why an endpoint was disabled. `gone`: the endpoint responded with 410. `failing`: no delivery succeeded for 5 days.
 */
export const DISABLED_REASONS = ['requested', 'gone', 'failing'] as const;
export type DisabledReason = (typeof DISABLED_REASONS)[number];

/** Maximum length of a URL in UTF-16 units. */
export const MAX_URL = 2_048;
/** Maximum number of records in a delivery. */
export const MAX_BATCH = 100;
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
