import { randomUUID } from 'node:crypto';
import { Invalid } from '../errors.js';
import { type DomainEvent, parseEvent, toJson, type UpstreamEvent } from '../events/event.js';
import { eventIdOf, OPERATIONS_STREAM, streamOf } from '../events/streams.js';
import { formatInstant } from '../events/instant.js';
import { newStoredKey, type StoredKey } from '../events/stored-key.js';
import { type EventLog, type NewEvent, WrongExpectedRevision } from './event-log.js';

/** Returns the event. @throws Invalid if its data does not match its type, with one issue per wrong field */
export const requireValid = <Event extends DomainEvent>(event: Event): Event => {
  const issues = parseEvent(event.type, toJson(event)).issues?.map((issue) => issue.replace(/^data\./, '')) ?? [];
  if (issues.length > 0) throw new Invalid(issues[0]!, issues);
  return event;
};

/** The size of events as the log stores them, in bytes of JSON. */
export const bytesOf = (events: readonly NewEvent[]): number =>
  events.reduce((sum, { data, metadata }) => sum + Buffer.byteLength(JSON.stringify([data, metadata])), 0);

/** Makes an event that originates in this service, with a random id. */
export const newEvent = (event: DomainEvent, metadata: object = {}): NewEvent => ({
  id: randomUUID(),
  type: event.type,
  data: toJson(event),
  metadata,
});

/** Appends the first event of a log, which holds the id of the log. */
export const appendLogOpened = async (log: EventLog): Promise<void> => {
  const opened = newEvent({ type: 'LogOpened', data: { logId: randomUUID(), createdAt: Date.now() } });
  await log.append(OPERATIONS_STREAM, 'no-stream', [opened]).catch((error: unknown) => {
    // Another process appended LogOpened at the same time. The log keeps the log id of that event, and the log id of
    // this process is discarded.
    if (!(error instanceof WrongExpectedRevision)) throw error;
  });
};

/**
 * Makes an event of this service in the form of an event from upstream: the metadata has `source`, `id` and `time`, and
 * the event id is derived from source, id, type and stream. Readers of the log then need not distinguish the two kinds
 * of events.
 * @param now the time of the event, in ms
 * @param metadata additional metadata
 * @param assetKey the key of the event's asset. Computed from the content if absent
 */
export const newUpstreamEvent = (
  source: string,
  event: UpstreamEvent,
  now: number,
  metadata: object = {},
  assetKey: StoredKey | undefined = newStoredKey(event),
): { readonly stream: string; readonly event: NewEvent } => {
  const stream = streamOf(event, assetKey?.hash);
  const id = randomUUID();
  const reported = newEvent(event, {
    source,
    id,
    time: formatInstant(now),
    ...metadata,
    ...(assetKey && { assetKey }),
  });
  return { stream, event: { ...reported, id: eventIdOf(source, id, event.type, stream) } };
};
