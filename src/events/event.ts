import { apiKeyIssued, type ApiKeyIssued, apiKeyRevoked, type ApiKeyRevoked } from './api-keys.js';
import {
  assetGroupCreated,
  type AssetGroupCreated,
  assetGroupDeleted,
  type AssetGroupDeleted,
  assetGrouped,
  type AssetGrouped,
  assetGroupRefused,
  type AssetGroupRefused,
  assetGroupRenamed,
  type AssetGroupRenamed,
  assetUngrouped,
  type AssetUngrouped,
} from './asset-groups.js';
import {
  assetStatusChangeDeleted,
  type AssetStatusChangeDeleted,
  assetStatusChanged,
  type AssetStatusChanged,
} from './asset-statuses.js';
import {
  brand,
  type BrandRegistered,
  type BrandRemoved,
  featureFlagChanged,
  type FeatureFlagChanged,
} from './brands.js';
import { Fields } from './fields.js';
import { formatInstant } from './instant.js';
import { logOpened, type LogOpened, parkedEventDropped, type ParkedEventDropped } from './operations.js';
import { reportDeleted, type ReportDeleted, reportFiled, type ReportFiled } from './reports.js';
import {
  takedown,
  takedownDeleted,
  type TakedownDeleted,
  type TakedownFiled,
  type TakedownStatusChanged,
} from './takedowns.js';
import { threatDeleted, type ThreatDeleted, threatStatusChanged, type ThreatStatusChanged } from './threats.js';

/** What upstream reports; each carries the record's full state. */
export type UpstreamEvent =
  | ReportFiled
  | ReportDeleted
  | ThreatStatusChanged
  | ThreatDeleted
  | TakedownFiled
  | TakedownStatusChanged
  | TakedownDeleted
  | AssetStatusChanged
  | AssetStatusChangeDeleted
  | BrandRegistered
  | BrandRemoved
  | FeatureFlagChanged
  | AssetGrouped
  | AssetUngrouped;

/** What this service decides itself; the ingestion endpoint refuses it. */
export type OwnEvent =
  | AssetGroupCreated
  | AssetGroupRenamed
  | AssetGroupDeleted
  | AssetGroupRefused
  | ApiKeyIssued
  | ApiKeyRevoked
  | ParkedEventDropped
  | LogOpened;

export type DomainEvent = UpstreamEvent | OwnEvent;
export type EventType = DomainEvent['type'];
export type EventOf<Type extends EventType> = Extract<DomainEvent, { readonly type: Type }>;

/** One parser for each type, of that type's data: a missing or exchanged one does not compile. */
export type Parsers<Event extends DomainEvent> = {
  readonly [Type in Event['type']]: (fields: Fields) => Extract<Event, { readonly type: Type }>['data'];
};

const UPSTREAM: Parsers<UpstreamEvent> = {
  ReportFiled: reportFiled,
  ReportDeleted: reportDeleted,
  ThreatStatusChanged: threatStatusChanged,
  ThreatDeleted: threatDeleted,
  TakedownFiled: takedown,
  TakedownStatusChanged: takedown,
  TakedownDeleted: takedownDeleted,
  AssetStatusChanged: assetStatusChanged,
  AssetStatusChangeDeleted: assetStatusChangeDeleted,
  BrandRegistered: brand,
  BrandRemoved: brand,
  FeatureFlagChanged: featureFlagChanged,
  AssetGrouped: assetGrouped,
  AssetUngrouped: assetUngrouped,
};

const OWN: Parsers<OwnEvent> = {
  AssetGroupCreated: assetGroupCreated,
  AssetGroupRenamed: assetGroupRenamed,
  AssetGroupDeleted: assetGroupDeleted,
  AssetGroupRefused: assetGroupRefused,
  ApiKeyIssued: apiKeyIssued,
  ApiKeyRevoked: apiKeyRevoked,
  ParkedEventDropped: parkedEventDropped,
  LogOpened: logOpened,
};

const PARSERS: Parsers<DomainEvent> = { ...UPSTREAM, ...OWN };

export const UPSTREAM_TYPES = Object.keys(UPSTREAM) as readonly UpstreamEvent['type'][];
export const OWN_TYPES = Object.keys(OWN) as readonly OwnEvent['type'][];

const upstreamTypes: ReadonlySet<string> = new Set(UPSTREAM_TYPES);
export const isUpstreamType = (type: string): type is UpstreamEvent['type'] => upstreamTypes.has(type);
export const isKnownType = (type: string): type is EventType => Object.hasOwn(PARSERS, type);
export const isUpstream = (event: DomainEvent): event is UpstreamEvent => upstreamTypes.has(event.type);

export type Parsed<Event extends DomainEvent = DomainEvent> =
  | { readonly event: Event; readonly issues?: undefined }
  | { readonly event?: undefined; readonly issues: readonly string[] };

/**
 * Reads an event's data as the ingestion endpoint and every projection read it.
 * @param latest where given, instants after this one and before 1970 are refused; the endpoint passes the clock plus
 *   24 hours, a projection nothing
 */
export const parseEvent = <Type extends EventType>(
  type: Type,
  data: unknown,
  latest?: number,
): Parsed<EventOf<Type>> => {
  if (typeof data !== 'object' || data === null || Array.isArray(data))
    return { issues: ['data must be a JSON object'] };
  const fields = new Fields(data as Record<string, unknown>, latest);
  const parsed = PARSERS[type](fields);
  return fields.issues.length > 0 ? { issues: fields.issues } : { event: { type, data: parsed } as EventOf<Type> };
};

const INSTANTS = ['createdAt', 'updatedAt', 'deletedAt', 'expiresAt', 'revokedAt'] as const;

/** An event's data as the log keeps it: the fields of its table, instants as text. */
export const toJson = (event: DomainEvent): Record<string, unknown> => {
  const json: Record<string, unknown> = { ...event.data };
  for (const name of INSTANTS) if (typeof json[name] === 'number') json[name] = formatInstant(json[name]);
  return json;
};
