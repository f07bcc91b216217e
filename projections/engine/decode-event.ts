import { eventIdOf, issueOfId, legacyEventIdOf } from '../../src/events/event-id.js';
import type { RecordedEvent } from '../../src/event-log/event-log.js';
import { type EventType, isKnownType, isUpstream, parseEvent } from '../../src/events/event.js';
import { isSameStream, streamOf } from '../../src/events/streams.js';
import type { ProjectedEvent } from './projection.js';

export type DecodedEvent =
  | { readonly kind: 'read'; readonly projected: ProjectedEvent }
  /** A type this version does not know. */
  | { readonly kind: 'unknown' }
  /** A known type with invalid contents. */
  | { readonly kind: 'unreadable'; readonly type: EventType; readonly reason: string };

/**
 * Why an upstream event differs from what the endpoint would have stored. Its actual stream is used: a library update
 * may hash the asset differently now, while the id was made with the old hash.
 */
const upstreamIssue = ({ id, type, stream, metadata }: RecordedEvent): string | undefined => {
  const { source, id: sourceId, time } = (metadata ?? {}) as Record<string, unknown>;
  if (typeof source !== 'string' || typeof sourceId !== 'string' || typeof time !== 'string')
    return 'metadata must be { source, id, time }, all strings';
  const due = eventIdOf(source, sourceId, type, stream);
  const issue = issueOfId(source) ?? issueOfId(sourceId);
  if (id === due && issue === undefined) return undefined;
  // Logs have events from before type and stream were part of the id. These keep their ids, which the order of equal
  // versions and every checkpoint depend on. Only decoding accepts the old rule: the endpoint no longer creates such
  // ids, so nobody can take another organization's event id.
  if (id === legacyEventIdOf(source, sourceId)) return undefined;
  return issue === undefined
    ? `the event id must be ${due}, the UUIDv5 of its source, id, type and stream`
    : `metadata.${issueOfId(source) === undefined ? 'id' : 'source'} ${issue}`;
};

/** Decodes a recorded event. However it was appended, it counts only if the endpoint could have stored it. */
export const decodeEvent = (recorded: RecordedEvent): DecodedEvent => {
  const { type } = recorded;
  if (!isKnownType(type)) return { kind: 'unknown' };
  const { event, issues } = parseEvent(type, recorded.data);
  if (!event) return { kind: 'unreadable', type, reason: issues.join('; ') };
  const due = streamOf(event);
  if (!isSameStream(recorded.stream, due)) return { kind: 'unreadable', type, reason: `the stream must be ${due}` };
  const issue = isUpstream(event) ? upstreamIssue(recorded) : undefined;
  if (issue !== undefined) return { kind: 'unreadable', type, reason: issue };
  const { id, position, stream, revision, metadata, recordedAt } = recorded;
  return { kind: 'read', projected: { event, id, position, stream, revision, metadata, recordedAt } };
};
