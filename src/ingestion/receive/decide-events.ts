import { ASSET_TYPES } from '../../events/asset-types.js';
import {
  documentedStatuses,
  type UpstreamEvent,
  isKnownType,
  isUpstreamType,
  parseEvent,
  toJson,
} from '../../events/event.js';
import { factsOf } from '../../events/facts.js';
import { readAccount } from '../../assets/accounts/payment.js';
import { GuardedHosts, type GuardOfHost } from '../../verdicts.js';
import { scopeOf } from '../../assets/asset-key.js';
import { type Asset, urlKey } from '../../assets/asset.js';
import { parsePasted } from '../../assets/copied-text.js';
import { parseDefangedLocation, trimLikeUrlParser } from '../../assets/location.js';
import { Invalid, type Rejection } from '../../errors.js';
import { isSlug } from '../../events/declaring/fields.js';
import { eventIdOf, MAX_ID_LENGTH, streamOf } from '../../events/streams.js';
import { formatInstant } from '../../events/instant.js';
import { reviewersOf } from '../../events/types/verdicts.js';
import { newKeyOf, newStoredKey } from '../../events/stored-key.js';
import { ErasedOrganizations } from '../../event-log/erased-organizations.js';
import type { NewEvent } from '../../event-log/event-log.js';
import type { Work } from '../../flow/turns.js';
import type { Origin } from '../../http/access/caller.js';
import { truncate } from '../../runtime/terminal.js';
import { type RejectReason, type RejectionGroup, RejectionGroups } from '../outcomes/rejection-log.js';
import type { CloudEvent } from './cloud-event.js';
import type { LazyEvents } from './content-mode.js';
import { countedFact } from './events.dto.js';

/**
 * The event types that an organization's own key may send. A new event type is not allowed until it is added here. Verdicts
 * are excluded because they affect all organizations, and brands and flags because the operator grants them.
 */
export const OWN_KEY_TYPES: ReadonlySet<string> = new Set<UpstreamEvent['type']>([
  'ReportFiled',
  'ReportDeleted',
  'ThreatStatusChanged',
  'ThreatDeleted',
  'TakedownFiled',
  'TakedownStatusChanged',
  'TakedownDeleted',
  'AssetGrouped',
  'AssetUngrouped',
]);

const TYPES = [...ASSET_TYPES].join(', ');

/** Returns why a key of this organization may not send the event; undefined if it may. */
export const permissionIssue = ({ type, data }: UpstreamEvent, organization: string): string | undefined => {
  if (!OWN_KEY_TYPES.has(type) || !('organization' in data))
    return `type ${type} needs an ingest key without an organization; this key is for ${organization}`;
  if (data.organization !== organization) return `data.organization must be this key's organization, ${organization}`;
  if ('asset' in data && !ASSET_TYPES.has(data.asset.type))
    return `data.asset.type is unknown; an organization's own key may send ${TYPES}`;
  return undefined;
};

/** Truncates text that is sent back, because the sender controls its length. */
const excerpt = (text: string, longest: number): string =>
  text.length > longest ? `${truncate(text, longest)}…` : text;

const URL_KEY = urlKey('');
/** How a warning calls what a link is read as. Default: a profile of the type. */
const NOUNS: Readonly<Record<string, string>> = { URL: 'host', PAGE: 'page', IPFS: 'IPFS content' };
/** Maximum number of characters of a name in a warning. */
const MAX_NAME_LENGTH = 256;

/** Says what a link of type URL is read as, by its key; undefined if it is read as its own host, or as no link. */
const readingOf = ({ type, content }: Asset, key: string): string | undefined => {
  const text = content.trim();
  if (type !== 'URL' || key === urlKey(text)) return undefined;
  const host = parseDefangedLocation(trimLikeUrlParser(content))?.host;
  if (host !== undefined && key === urlKey(host)) return undefined;
  const [read, name] = [key.slice(0, key.indexOf(':')), key.slice(key.indexOf(':') + 1)];
  return `${NOUNS[read] ?? `${read} profile`} ${excerpt(name, MAX_NAME_LENGTH)}`;
};

/**
 * Returns a warning for each probable mistake of the sender. The event is accepted unchanged, because a record with a
 * mistake is more useful than a missing record.
 * @param key the key of the event's asset
 * @param found the result of `guardOf`
 * @param isQueryDropped the result of `dropsQuery`
 */
const warningsOf = (event: UpstreamEvent, key = '', found?: GuardOfHost, isQueryDropped = false): string[] => {
  const { type: eventType, data } = event;
  const warnings: string[] = [];
  const statuses = documentedStatuses(eventType);
  if ('status' in data && statuses?.includes(data.status) === false) {
    const measures = new Set(factsOf(event).map((fact) => countedFact(fact).measure));
    warnings.push(
      `data.status is none of ${statuses.join(', ')}; the event counts ${measures.size > 0 ? `only as ${[...measures].join(', ')}` : 'in no metric'}`,
    );
  }
  if ('createdAt' in data && 'updatedAt' in data && data.updatedAt < data.createdAt)
    warnings.push('data.updatedAt is before data.createdAt');
  if ('asset' in data) {
    const { type, content } = data.asset;
    if (!ASSET_TYPES.has(type))
      warnings.push(
        `data.asset.type is none of ${TYPES}; a threat of this type counts in otherThreats, and asset checks may not find the asset`,
      );
    if (content.trim() === '') warnings.push('data.asset.content is blank; no asset check will find it');
    else if (type === 'ADDRESS' && parsePasted(content.trim(), readAccount) === undefined)
      warnings.push(
        'data.asset.content is not an address in an encoding that the asset check reads; no asset check will find it',
      );
    else if (scopeOf(data.asset, key) === 'one-link')
      warnings.push(
        'data.asset.content is a link to a page with another link in it, which is not read; the event concerns exactly this link, and neither the other link nor other pages of the host',
      );
  }
  const reading = 'asset' in data ? readingOf(data.asset, key) : undefined;
  if (reading !== undefined)
    warnings.push(
      `data.asset.content is a link, which is read as the ${reading}; the event does not concern the host of the link`,
    );
  if (found !== undefined)
    warnings.push(
      `data.asset.content is a ${found.isAbove ? 'domain above a host' : 'host'} that the guard ${found.guard} keeps lists from blocking; the status blocks it`,
    );
  if (isQueryDropped)
    warnings.push(
      'data.asset.content is a page with parameters or a route that do not name it here; the status applies to the page with any of them',
    );
  return warnings;
};

/** Whether the event gives a status to a page whose link has parameters or a route that do not name the page. */
const dropsQuery = ({ data }: UpstreamEvent, key = ''): boolean =>
  'status' in data && 'changeId' in data && data.status !== 'UNKNOWN' && scopeOf(data.asset, key) === 'more-links';

/** Returns the guard of the host which the event blocks as a whole. */
const guardOf = ({ data }: UpstreamEvent, key: string | undefined, hosts: GuardedHosts): GuardOfHost | undefined =>
  'status' in data && 'changeId' in data && data.status === 'BLOCKED' && key?.startsWith(URL_KEY) === true
    ? hosts.guardOf(key.slice(URL_KEY.length))
    : undefined;

/** The request that sent events. */
export interface EventsOrigin extends Origin {
  /** Whether the sender of the request named the trace. If not, the trace that an event names comes first. */
  readonly isTraceSent?: boolean;
}

/** The events of a request, and who sent them. */
export interface SentEvents {
  /** The events, parsed with the same `latest`. `decide` iterates them once. */
  readonly events: LazyEvents;
  /** The latest time that an event may have, in ms. */
  readonly latest: number;
  /**
   * The organization of the key, which may send only some types of events, and only events of this organization.
   * Undefined: the key may send all events of upstream.
   */
  readonly organization: string | undefined;
  readonly origin: EventsOrigin;
  /** Whether an organization has a key. Absent: this is not checked. */
  readonly hasKeyOf?: ((organization: string) => boolean) | undefined;
}

/** An event to store. */
export interface Entry {
  /** The index of the event in the request, from 0. */
  readonly index: number;
  readonly stream: string;
  readonly event: NewEvent;
  /** Whether the event blocks a guarded host as a whole. */
  readonly isGuarded: boolean;
  /** Whether the event gives a status to a page whose parameters or route do not name it. */
  readonly isQueryDropped: boolean;
}

export interface Decision {
  /** The events to store, each distinct event once. */
  readonly entries: readonly Entry[];
  /** The types of the events that repeat an earlier event of the request. */
  readonly repeated: readonly string[];
  readonly rejected: readonly Rejection[];
  readonly warnings: readonly Rejection[];
  /** The rejected events by reason and type, for the operator. */
  readonly groups: readonly RejectionGroup[];
}

const quote = (type: string): string => JSON.stringify(excerpt(type, 64));

const typeIssue = (type: string): string =>
  isKnownType(type) ? `type ${quote(type)} is reserved for this service` : `type ${quote(type)} is unknown`;

/**
 * Returns the event without the reviews of erased organizations, or the event itself if it has no such reviews. The
 * status of an asset protects every organization, so the event is not rejected as a whole.
 */
const withoutErasedReviews = (event: UpstreamEvent, erased: ErasedOrganizations): UpstreamEvent => {
  if (event.type !== 'AssetStatusChanged') return event;
  const brandReviews = event.data.brandReviews.filter(({ organization }) => !erased.has(organization));
  return brandReviews.length === event.data.brandReviews.length
    ? event
    : { ...event, data: { ...event.data, brandReviews } };
};

/**
 * Returns a rejected event as its sample may show it: only its type, if the event names an erased organization. Nothing
 * that only this organization had may be stored again.
 */
const withoutErasedNames = (event: CloudEvent, erased: ErasedOrganizations): CloudEvent => {
  if (erased.isEmpty) return event;
  const { organization } = (event.data ?? {}) as { readonly organization?: unknown };
  const names = [...(isSlug(organization) ? [organization] : []), ...reviewersOf(event.data)];
  const isNamed = names.some((name) => erased.has(name));
  return isNamed ? { ...event, id: undefined, source: '', data: undefined } : event;
};

/** So many events show whose a request is, at a small part of the cost of the largest request. */
const FIRST_EVENTS = 32;

/**
 * Decides which events of a request to store, and which to reject and why. Yields after each event.
 * @param onFirst called with the first 32 events to store, before the others are read; an error ends the work
 */
export function* decide(
  { events, latest, organization, origin, hasKeyOf = () => true }: SentEvents,
  guardedHosts: GuardedHosts,
  erased: ErasedOrganizations,
  onFirst: (entries: readonly Entry[]) => void = () => {},
): Work<Decision> {
  const entries: Entry[] = [];
  const rejected: Rejection[] = [];
  const warnings: Rejection[] = [];
  /** The `changeId` of each event to store, by the id of the event; undefined if the event is no status entry. */
  const changeIds = new Map<string, string | undefined>();
  const withoutKey = new Set<string>();
  const { keyId } = origin;
  const groups = new RejectionGroups();
  const repeated: string[] = [];
  let index = -1;
  for (const sentEvent of events) {
    yield;
    if (sentEvent === undefined) continue;
    index += 1;
    const { id, source, type, time, data, issues } = sentEvent;
    const describe = (messages: readonly string[]): Rejection => ({
      index,
      id: id && excerpt(id, MAX_ID_LENGTH),
      issues: messages.map((message) => ({ message })),
    });
    const reject = (reason: RejectReason, messages: readonly string[]): void => {
      rejected.push(describe(messages));
      groups.add(reason, isUpstreamType(type) ? type : 'other', withoutErasedNames(sentEvent, erased), messages);
    };
    if (!isUpstreamType(type)) {
      if (type === '') reject('attributes', issues);
      else reject(isKnownType(type) ? 'own-type' : 'unknown-type', [...issues, typeIssue(type)]);
      continue;
    }
    const parsed = data === undefined ? undefined : parseEvent(type, data, latest);
    if (issues.length > 0 || id === undefined || !parsed?.event) {
      reject(issues.length > 0 ? 'attributes' : 'data', [...issues, ...(parsed?.issues ?? [])]);
      continue;
    }
    const event = withoutErasedReviews(parsed.event, erased);
    if ('organization' in event.data && erased.has(event.data.organization)) {
      reject('erased', ['the organization of this event was erased']);
      continue;
    }
    const forbiddenIssue = organization === undefined ? undefined : permissionIssue(event, organization);
    if (forbiddenIssue !== undefined) {
      reject('not-permitted', [forbiddenIssue]);
      continue;
    }
    const key = newKeyOf(event);
    const assetKey = newStoredKey(event, key);
    const stream = streamOf(event, assetKey?.hash);
    const eventId = eventIdOf(source, id, type, stream);
    const changeId = 'changeId' in event.data ? event.data.changeId : undefined;
    const isRepeated = changeIds.has(eventId);
    // Status entries of an asset share a stream, so their event ids do not tell them apart.
    if (isRepeated && changeIds.get(eventId) !== changeId) {
      reject('attributes', [
        'id is that of an earlier event of the request about the same asset with another data.changeId; send each entry with an id of its own',
      ]);
      continue;
    }
    const guard = guardOf(event, key, guardedHosts);
    const isQueryDropped = dropsQuery(event, key);
    const eventWarnings = warningsOf(event, key, guard, isQueryDropped);
    if (event !== parsed.event)
      eventWarnings.push('data.brandReviews named an organization that was erased; its reviews were left out');
    const named = 'organization' in event.data ? event.data.organization : undefined;
    // One warning per organization is enough: a request may have 1,000 events of an organization.
    if (named !== undefined && !withoutKey.has(named) && !hasKeyOf(named)) {
      withoutKey.add(named);
      eventWarnings.push(
        `data.organization: no API key belongs to ${named}, so nobody can query its events; check the slug`,
      );
    }
    if (eventWarnings.length > 0) warnings.push(describe(eventWarnings));
    if (isRepeated) {
      repeated.push(type);
      continue;
    }
    changeIds.set(eventId, changeId);
    // The trace that the request names, or else the one that the event names, or else the one that began with the request.
    const traceparent = (origin.isTraceSent ? undefined : sentEvent.traceparent) ?? origin.traceparent;
    const metadata = {
      source,
      id,
      time: formatInstant(time),
      ...(assetKey !== undefined && { assetKey }),
      ...(keyId !== undefined && { keyId }),
      ...(traceparent !== undefined && { traceparent }),
    };
    entries.push({
      index,
      stream,
      event: { id: eventId, type, data: toJson(event), metadata },
      isGuarded: guard !== undefined,
      isQueryDropped,
    });
    if (entries.length === FIRST_EVENTS) onFirst(entries);
  }
  return { entries, repeated, rejected, warnings, groups: groups.all() };
}

/** @throws Invalid if every event is rejected */
export const requireAccepted = ({ entries, rejected }: Decision): void => {
  if (rejected.length === 0 || entries.length > 0) return;
  throw new Invalid(
    rejected.length === 1 ? 'The event was rejected' : `All ${rejected.length} events were rejected`,
    rejected.flatMap(({ index, issues }) => issues.map(({ message }) => `event ${index}: ${message}`)),
    rejected,
  );
};
