import {
  apiKeyIssued,
  apiKeyRevoked,
  assetGroupCreated,
  assetGroupDeleted,
  assetGrouped,
  assetGroupRefused,
  assetGroupRenamed,
  assetUngrouped,
  brandRegistered,
  brandRemoved,
  featureFlagChanged,
  WEBHOOK_EVENTS,
} from './types/organizations.js';
import { assetStatusChangeDeleted, assetStatusChanged, disputeFiled, disputeResolved } from './types/verdicts.js';
import type { Declaration, Declared, UpstreamDeclaration } from './declaring/declaration.js';
import { formatInstant } from './instant.js';
import {
  logOpened,
  organizationErased,
  organizationErasureStarted,
  parkedEventDropped,
  parkedEventRetried,
  streamsRewritten,
  contentRedacted,
} from './types/operations.js';
import { Validation } from './declaring/fields.js';
import {
  reportDeleted,
  reportFiled,
  takedownDeleted,
  takedownFiled,
  takedownStatusChanged,
  threatDeleted,
  threatStatusChanged,
} from './types/records.js';

/**
 * SHA-256 hashes (hex) of `Idempotency-Key` and request body, stored in the metadata of the event that the request
 * caused.
 */
export interface IdempotentRequest {
  readonly idempotencyKeyHash: string;
  readonly bodyHash: string;
}

/** How long the first response to an `Idempotency-Key` is repeated. ms */
export const IDEMPOTENCY_TTL_MS = 24 * 60 * 60 * 1000;

const SHA_256 = /^[0-9a-f]{64}$/;

/** Reads an `IdempotentRequest` from the metadata of an event; undefined if the client sent no key. */
export const idempotentRequestOf = (metadata: unknown): IdempotentRequest | undefined => {
  const { idempotencyKeyHash, bodyHash } = (metadata ?? {}) as Record<string, unknown>;
  return typeof idempotencyKeyHash === 'string' &&
    typeof bodyHash === 'string' &&
    SHA_256.test(idempotencyKeyHash) &&
    SHA_256.test(bodyHash)
    ? { idempotencyKeyHash, bodyHash }
    : undefined;
};

/**
 * Events that upstream reports. Each event contains the full state of its record. A declaration without documentation
 * does not compile.
 */
export const UPSTREAM = [
  reportFiled,
  reportDeleted,
  threatStatusChanged,
  threatDeleted,
  takedownFiled,
  takedownStatusChanged,
  takedownDeleted,
  assetStatusChanged,
  assetStatusChangeDeleted,
  brandRegistered,
  brandRemoved,
  featureFlagChanged,
  assetGrouped,
  assetUngrouped,
  disputeResolved,
] as const satisfies readonly UpstreamDeclaration[];

/** Events that this service creates itself. The ingestion endpoint rejects these events. */
const OWN = [
  assetGroupCreated,
  assetGroupRenamed,
  assetGroupDeleted,
  assetGroupRefused,
  ...WEBHOOK_EVENTS,
  disputeFiled,
  apiKeyIssued,
  apiKeyRevoked,
  contentRedacted,
  parkedEventDropped,
  parkedEventRetried,
  organizationErasureStarted,
  organizationErased,
  streamsRewritten,
  logOpened,
] as const satisfies readonly Declaration[];

export type UpstreamEvent = Declared<(typeof UPSTREAM)[number]>;
type OwnEvent = Declared<(typeof OWN)[number]>;
export type DomainEvent = UpstreamEvent | OwnEvent;
export type EventType = DomainEvent['type'];
export type EventOf<Type extends EventType> = Extract<DomainEvent, { readonly type: Type }>;

export const UPSTREAM_TYPES = UPSTREAM.map(({ type }) => type);
export const OWN_TYPES = OWN.map(({ type }) => type);

const DECLARATIONS: ReadonlyMap<string, Declaration> = new Map(
  [...UPSTREAM, ...OWN].map((declaration) => [declaration.type, declaration]),
);

const upstreamTypes: ReadonlySet<string> = new Set(UPSTREAM_TYPES);
/** Returns the documented values of `data.status` of a type that accepts others too; undefined for other types. */
export const documentedStatuses = (type: EventType): readonly string[] | undefined =>
  DECLARATIONS.get(type)?.fields['status']?.schema['examples'] as readonly string[] | undefined;

export const isUpstreamType = (type: string): type is UpstreamEvent['type'] => upstreamTypes.has(type);
export const isKnownType = (type: string): type is EventType => DECLARATIONS.has(type);
export const isUpstream = (event: DomainEvent): event is UpstreamEvent => upstreamTypes.has(event.type);

type Parsed<Event extends DomainEvent = DomainEvent> =
  | { readonly event: Event; readonly issues?: undefined }
  | { readonly event?: undefined; readonly issues: readonly string[] };

/**
 * Parses the data of an event, both in the ingestion endpoint and in projections.
 * @param latest latest instant (ms) that the sender may use; enables the limits of the ingestion endpoint. Absent for
 *   stored events
 */
export const parseEvent = <Type extends EventType>(
  type: Type,
  data: unknown,
  latest?: number,
): Parsed<EventOf<Type>> => {
  if (typeof data !== 'object' || data === null || Array.isArray(data))
    return { issues: ['data must be a JSON object'] };
  const validation = new Validation(latest);
  const read = DECLARATIONS.get(type)!.read(data as Record<string, unknown>, validation);
  return validation.issues.length > 0
    ? { issues: validation.issues }
    : { event: { type, data: read } as EventOf<Type> };
};

/** Converts the data of an event to the stored form: the declared fields, with instants as text. */
export const toJson = (event: DomainEvent): Record<string, unknown> => {
  const json: Record<string, unknown> = { ...event.data };
  for (const name of DECLARATIONS.get(event.type)!.instants)
    if (typeof json[name] === 'number') json[name] = formatInstant(json[name]);
  return json;
};
