import { eventIdOf, issueOfId, legacyEventIdOf } from '../../src/events/event-id.js';
import type { RecordedEvent } from '../../src/event-log/event-log.js';
import { type EventType, isKnownType, isUpstream, parseEvent } from '../../src/events/event.js';
import { ERASED_TYPE, isStreamOf, streamOf } from '../../src/events/streams.js';
import type { ProjectedEvent } from './projection.js';

export type DecodedEvent =
  | { readonly kind: 'read'; readonly projected: ProjectedEvent }
  /** The content of the event was erased, so that no projection applies the event. */
  | { readonly kind: 'erased' }
  /** This version does not know the type of the event. */
  | { readonly kind: 'unknown' }
  /** The type is known, but the event is invalid. */
  | { readonly kind: 'unreadable'; readonly type: EventType; readonly reason: string };

/**
 * Returns why the ingestion endpoint cannot have stored an upstream event. The check uses the actual stream of the
 * event: a library update may change the hash of an asset, while the id contains the old hash.
 */
const upstreamIssue = ({ id, type, stream, metadata }: RecordedEvent): string | undefined => {
  const { source, id: sourceId, time } = (metadata ?? {}) as Record<string, unknown>;
  if (typeof source !== 'string' || typeof sourceId !== 'string' || typeof time !== 'string')
    return 'metadata must be { source, id, time }, all strings';
  const expected = eventIdOf(source, sourceId, type, stream);
  const issue = issueOfId(source) ?? issueOfId(sourceId);
  if (id === expected && issue === undefined) return undefined;
  // Before version 2.1, type and stream were not part of the id. Existing events keep their ids, because checkpoints
  // and the order of equal versions depend on them. The endpoint does not create such ids any more, so no organization
  // can use an event id of another organization.
  if (id === legacyEventIdOf(source, sourceId)) return undefined;
  return issue === undefined
    ? `the event id must be ${expected}, the UUIDv5 of its source, id, type and stream`
    : `metadata.${issueOfId(source) === undefined ? 'id' : 'source'} ${issue}`;
};

/** Decodes a recorded event, and checks that the ingestion endpoint could have stored the event. */
export const decodeEvent = (recorded: RecordedEvent): DecodedEvent => {
  const { type } = recorded;
  if (type === ERASED_TYPE) return { kind: 'erased' };
  if (!isKnownType(type)) return { kind: 'unknown' };
  const { event, issues } = parseEvent(type, recorded.data);
  if (!event) return { kind: 'unreadable', type, reason: issues.join('; ') };
  if (!isStreamOf(recorded.stream, event))
    return { kind: 'unreadable', type, reason: `the stream must be ${streamOf(event)}` };
  const issue = isUpstream(event) ? upstreamIssue(recorded) : undefined;
  if (issue !== undefined) return { kind: 'unreadable', type, reason: issue };
  const { id, stream, revision, metadata } = recorded;
  const { position, recordedAt } = recorded.copyOf ?? recorded;
  const isCopy = recorded.copyOf !== undefined;
  return { kind: 'read', projected: { event, id, position, stream, revision, isCopy, metadata, recordedAt } };
};
