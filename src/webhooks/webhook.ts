import { Conflict, NotFound, Unprocessable } from '../errors.js';
import type { IdempotentRequest } from '../events/event.js';
import type { DisabledReason, Webhook, WebhookEvent } from '../events/types/organizations.js';
import { MS_PER_DAY } from '../events/instant.js';
import { firstResponse } from '../http/body/validation.js';
import { limit } from '../limits.js';

/** Maximum number of endpoints per organization, including disabled endpoints. */
export const MAX_WEBHOOKS = limit('webhooks', 10, 'webhooks', 'organization', '409');
/** How long the previous secret still signs after a rotation. */
const PREVIOUS_SECRET_VALID_MS = MS_PER_DAY;

/**
 * A request is signed at most this long after the endpoint was read. A change of an endpoint therefore counts for every
 * process this long after its projection, and the response to the change waits for it.
 */
export const MAX_ENDPOINT_AGE_MS = limit('age of an endpoint that signs', 250, 'ms', 'request', 'is read again');

/** The settings that an organization chooses for an endpoint. */
export type Settings = Pick<Webhook, 'url' | 'types' | 'assetTypes' | 'statuses' | 'batch' | 'description'>;

/** The position in a log after which deliveries start. */
export type StartPosition = Pick<Webhook, 'startAfter' | 'startLog'>;

interface WebhookTarget {
  readonly organization: string;
  readonly webhookId: string;
}

export type WebhookCommand =
  | (WebhookTarget & {
      readonly type: 'Create';
      readonly settings: Settings;
      readonly start: StartPosition;
      readonly masterKey: string;
      /** Present if the client sent an `Idempotency-Key`. */
      readonly request: IdempotentRequest | undefined;
    })
  | (WebhookTarget & {
      readonly type: 'Change';
      readonly settings: Partial<Settings>;
      readonly state: 'ACTIVE' | 'DISABLED' | undefined;
    })
  | (WebhookTarget & {
      readonly type: 'Disable';
      readonly reason: DisabledReason;
      /** A time in ms. If present, the endpoint is disabled only if its `updatedAt` still has this value. */
      readonly updatedAt?: number;
    })
  | (WebhookTarget & { readonly type: 'Enable' })
  | (WebhookTarget & { readonly type: 'Rotate'; readonly masterKey: string; readonly force: boolean })
  | (WebhookTarget & { readonly type: 'Replay'; readonly start: StartPosition })
  | (WebhookTarget & { readonly type: 'Delete' });

/** The endpoints of an organization, by id. */
export interface Webhooks {
  /**
   * Includes a deleted endpoint only if a command repeats the `Idempotency-Key` of the request that created the
   * endpoint.
   */
  readonly byId: Map<string, Webhook>;
}

export interface Accepted {
  readonly events: readonly WebhookEvent[];
  /** The webhook after the command. */
  readonly webhook: Webhook;
  /** Present if this decision repeats the first response to an `Idempotency-Key`. */
  readonly replayed?: true;
  readonly refusal?: undefined;
}

/** The outcome of a command. */
export type Decision = Accepted | { readonly events: readonly WebhookEvent[]; readonly refusal: Error };

export const webhookNotFound = (): Error => new NotFound('Webhook not found');

const reject = (refusal: Error): Decision => ({ events: [], refusal });

/** Applies an event. Each event contains the whole endpoint. */
export const evolve = ({ byId }: Webhooks, { data }: WebhookEvent): void => {
  byId.set(data.webhookId, data);
};

/** Decides which events a command causes. @param now the current time, in ms */
export const decide = (webhooks: Webhooks, command: WebhookCommand, now: number): Decision => {
  if (command.type === 'Create') return create(webhooks, command, now);
  const current = webhooks.byId.get(command.webhookId);
  if (current === undefined || current.state === 'DELETED') return reject(webhookNotFound());
  const updatedAt = Math.max(now, current.updatedAt + 1);
  switch (command.type) {
    case 'Change':
      return change(current, command, updatedAt);
    case 'Disable':
      return command.updatedAt !== undefined && command.updatedAt !== current.updatedAt
        ? { events: [], webhook: current }
        : disable(current, command.reason, updatedAt);
    case 'Enable':
      return enable(current, updatedAt);
    case 'Rotate':
      return rotate(current, command, updatedAt);
    case 'Replay':
      return recorded('WebhookReplayed', { ...current, ...command.start, replay: current.replay + 1, updatedAt });
    case 'Delete':
      return recorded('WebhookDeleted', { ...current, state: 'DELETED', disabledReason: undefined, updatedAt });
  }
};

const recorded = (type: WebhookEvent['type'], webhook: Webhook): Accepted => ({
  events: [{ type, data: webhook }],
  webhook,
});

type CommandOf<Type extends WebhookCommand['type']> = Extract<WebhookCommand, { readonly type: Type }>;

const create = (
  { byId }: Webhooks,
  { organization, webhookId, settings, start, masterKey, request }: CommandOf<'Create'>,
  now: number,
): Decision => {
  const all = [...byId.values()];
  const earlier = all.filter(({ idempotencyKeyHash }) => idempotencyKeyHash === request?.idempotencyKeyHash);
  const first = firstResponse(request, earlier, ({ createdAt }) => createdAt, now);
  if (first instanceof Unprocessable) return reject(first);
  if (first) return { events: [], webhook: first, replayed: true };
  if (all.filter(({ state }) => state !== 'DELETED').length >= MAX_WEBHOOKS)
    return reject(new Conflict(`An organization has at most ${MAX_WEBHOOKS} webhooks; delete one first`));
  return recorded('WebhookCreated', {
    organization,
    webhookId,
    ...settings,
    state: 'ACTIVE',
    disabledReason: undefined,
    generation: 1,
    masterKey,
    previousGeneration: undefined,
    previousMasterKey: undefined,
    previousUntil: undefined,
    ...start,
    replay: 0,
    createdAt: now,
    updatedAt: now,
    idempotencyKeyHash: request?.idempotencyKeyHash,
    bodyHash: request?.bodyHash,
  });
};

const change = (current: Webhook, { settings, state }: CommandOf<'Change'>, updatedAt: number): Accepted => {
  const changed = { ...current, ...settings };
  const isChanged = Object.keys(settings).some(
    (name) => JSON.stringify(changed[name as keyof Settings]) !== JSON.stringify(current[name as keyof Settings]),
  );
  const first: Accepted = isChanged
    ? recorded('WebhookChanged', { ...changed, updatedAt })
    : { events: [], webhook: current };
  if (state === undefined) return first;
  const { webhook } = first;
  const second = state === 'ACTIVE' ? enable(webhook, updatedAt) : disable(webhook, 'requested', updatedAt);
  return { events: [...first.events, ...second.events], webhook: second.webhook };
};

const disable = (current: Webhook, disabledReason: DisabledReason, updatedAt: number): Accepted =>
  current.state === 'DISABLED'
    ? { events: [], webhook: current }
    : recorded('WebhookDisabled', { ...current, state: 'DISABLED', disabledReason, updatedAt });

const enable = (current: Webhook, updatedAt: number): Accepted =>
  current.state === 'ACTIVE'
    ? { events: [], webhook: current }
    : recorded('WebhookEnabled', { ...current, state: 'ACTIVE', disabledReason: undefined, updatedAt });

const rotate = (current: Webhook, { masterKey, force }: CommandOf<'Rotate'>, updatedAt: number): Decision => {
  if (!force && current.previousUntil !== undefined && updatedAt < current.previousUntil)
    return reject(
      new Conflict(
        'The secret was rotated within the last 24 hours, so two secrets are in use; to rotate again, send { "force": true }',
      ),
    );
  return recorded('WebhookSecretRotated', {
    ...current,
    generation: current.generation + 1,
    masterKey,
    previousGeneration: current.generation,
    previousMasterKey: current.masterKey,
    previousUntil: updatedAt + PREVIOUS_SECRET_VALID_MS,
    updatedAt,
  });
};
