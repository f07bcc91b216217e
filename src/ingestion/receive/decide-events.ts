import { Invalid, type Rejection } from '../../errors.js';
import { eventIdOf, MAX_ID_LENGTH } from '../../events/event-id.js';
import { isKnownType, isUpstreamType, parseEvent, toJson } from '../../events/event.js';
import { formatInstant } from '../../events/instant.js';
import { streamOf } from '../../events/streams.js';
import type { NewEvent } from '../../event-log/event-log.js';
import type { Work } from '../../flow/time-slices.js';
import type { Origin } from '../../http/access/origin.js';
import { type RejectReason, type Refusal, Refusals } from '../rejections/refusals.js';
import type { ReadingEvents } from './content-mode.js';
import { permissionIssue } from './permission.js';
import { warningsOf } from './warnings.js';

/** A request's events and whose they are. */
export interface SentEvents {
  /** Parsed with the same `latest`; iterated once. */
  readonly events: ReadingEvents;
  /** Later times are rejected, in ms. */
  readonly latest: number;
  /** The key's organization: restricts events to its own, and to some types. Absent: unrestricted. */
  readonly organization: string | undefined;
  readonly origin: Origin;
}

/** An event to store. */
export interface Entry {
  /** Of the event in the request, from 0. */
  readonly index: number;
  readonly stream: string;
  readonly event: NewEvent;
}

export interface Decision {
  /** Each distinct event once. */
  readonly entries: readonly Entry[];
  /** Types of events that repeat another one of the request. */
  readonly repeated: readonly string[];
  readonly rejected: readonly Rejection[];
  readonly warnings: readonly Rejection[];
  /** The rejected ones for the operator. */
  readonly refusals: readonly Refusal[];
}

/** Truncates text that is sent back, because the sender controls its length. */
const cut = (text: string, longest: number): string => (text.length > longest ? `${text.slice(0, longest)}…` : text);

const quote = (type: string): string => JSON.stringify(cut(type, 64));

const typeIssue = (type: string): string =>
  isKnownType(type) ? `type ${quote(type)} is reserved for this service` : `type ${quote(type)} is unknown`;

/** Decides which events of a request to store, and which to reject and why. Pure; yields after each event. */
export function* decide({ events, latest, organization, origin }: SentEvents): Work<Decision> {
  const entries: Entry[] = [];
  const rejected: Rejection[] = [];
  const warnings: Rejection[] = [];
  const seen = new Set<string>();
  const { keyId } = origin;
  const refusals = new Refusals();
  const repeated: string[] = [];
  let index = -1;
  for (const sent of events) {
    yield;
    if (sent === undefined) continue;
    index += 1;
    const { id, source, type, time, data, issues } = sent;
    const note = (sentences: readonly string[]): Rejection => ({
      index,
      id: id && cut(id, MAX_ID_LENGTH),
      issues: sentences.map((message) => ({ message })),
    });
    const reject = (reason: RejectReason, sentences: readonly string[]): void => {
      rejected.push(note(sentences));
      refusals.add(reason, isUpstreamType(type) ? type : 'other', sent, sentences);
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
    const { event } = parsed;
    const forbidden = organization === undefined ? undefined : permissionIssue(event, organization);
    if (forbidden !== undefined) {
      reject('not-permitted', [forbidden]);
      continue;
    }
    const doubts = warningsOf(event);
    if (doubts.length > 0) warnings.push(note(doubts));
    const stream = streamOf(event);
    const eventId = eventIdOf(source, id, type, stream);
    if (seen.has(eventId)) {
      repeated.push(type);
      continue;
    }
    seen.add(eventId);
    // The request is what stored it; where that is not known, what made it.
    const traceparent = origin.traceparent ?? sent.traceparent;
    const metadata = {
      source,
      id,
      time: formatInstant(time),
      ...(keyId !== undefined && { keyId }),
      ...(traceparent !== undefined && { traceparent }),
    };
    entries.push({ index, stream, event: { id: eventId, type, data: toJson(event), metadata } });
  }
  return { entries, repeated, rejected, warnings, refusals: refusals.all() };
}

/** @throws Invalid if every event is rejected */
export const requireSome = ({ entries, rejected }: Decision): void => {
  if (rejected.length === 0 || entries.length > 0) return;
  throw new Invalid(
    rejected.length === 1 ? 'The event was rejected' : `All ${rejected.length} events were rejected`,
    rejected.flatMap(({ index, issues }) => issues.map(({ message }) => `event ${index}: ${message}`)),
    rejected,
  );
};
