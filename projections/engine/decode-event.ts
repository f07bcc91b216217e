import { eventIdOf, issueOfId, legacyEventIdOf } from '../../src/events/event-id.js';
import type { RecordedEvent } from '../../src/event-log/event-log.js';
import { type EventType, isKnownType, isUpstream, parseEvent } from '../../src/events/event.js';
import { streamOf } from '../../src/events/streams.js';
import type { ProjectedEvent } from './projection.js';

export type DecodedEvent =
  | { readonly kind: 'read'; readonly projected: ProjectedEvent }
  /** Of a type this version does not know. */
  | { readonly kind: 'unknown' }
  /** Of a known type, but not what that type may be. */
  | { readonly kind: 'unreadable'; readonly type: EventType; readonly reason: string };

/** Streams named by an asset's hash: which spelling hashes to what may change with a library, so only the form counts. */
const HASHED = /^(assetStatus-|groupedAsset-[a-z0-9-]+:)[0-9a-f]{32}$/;

const isSameStream = (actual: string, due: string): boolean =>
  actual === due || (HASHED.test(actual) && HASHED.test(due) && actual.slice(0, -32) === due.slice(0, -32));

/**
 * Why an upstream event is not what the endpoint would have stored. The stream is the one it is in: where a library has
 * since come to hash its asset differently, its id was made with the old hash.
 */
const upstreamIssue = ({ id, type, stream, metadata }: RecordedEvent): string | undefined => {
  const { source, id: sourceId, time } = (metadata ?? {}) as Record<string, unknown>;
  if (typeof source !== 'string' || typeof sourceId !== 'string' || typeof time !== 'string')
    return 'metadata must be { source, id, time }, all texts';
  const due = eventIdOf(source, sourceId, type, stream);
  const issue = issueOfId(source) ?? issueOfId(sourceId);
  if (id === due && issue === undefined) return undefined;
  // Logs hold events from before type and stream were part of the id. They keep those ids, which the order of equal
  // versions and every checkpoint depend on, and count as ever. Only reading accepts the old rule: the endpoint makes no
  // such id any more, so that no sender can take another's event's id.
  if (id === legacyEventIdOf(source, sourceId)) return undefined;
  return issue === undefined
    ? `the event id must be ${due}, the UUIDv5 of its source, id, type and stream`
    : `metadata.${issueOfId(source) === undefined ? 'id' : 'source'} ${issue}`;
};

/** Reads an event as the log has it: whoever appended it, it counts only if it is what the door would have stored. */
export const decodeEvent = (recorded: RecordedEvent): DecodedEvent => {
  const { type } = recorded;
  if (!isKnownType(type)) return { kind: 'unknown' };
  const { event, issues } = parseEvent(type, recorded.data);
  if (!event) return { kind: 'unreadable', type, reason: issues.join('; ') };
  const due = streamOf(event);
  if (!isSameStream(recorded.stream, due)) return { kind: 'unreadable', type, reason: `the stream must be ${due}` };
  const issue = isUpstream(event) ? upstreamIssue(recorded) : undefined;
  if (issue !== undefined) return { kind: 'unreadable', type, reason: issue };
  const { id, position, stream, revision, metadata } = recorded;
  return { kind: 'read', projected: { event, id, position, stream, revision, metadata } };
};
