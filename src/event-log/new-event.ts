import { randomUUID } from 'node:crypto';
import { eventIdOf } from '../events/event-id.js';
import { type DomainEvent, toJson, type UpstreamEvent } from '../events/event.js';
import { formatInstant } from '../events/instant.js';
import { OPERATIONS_STREAM, streamOf } from '../events/streams.js';
import { type EventLog, type NewEvent, WrongExpectedRevision } from './event-log.js';

/** An event that this service decides, under a random id. */
export const newEvent = (event: DomainEvent, metadata: object = {}): NewEvent => ({
  id: randomUUID(),
  type: event.type,
  data: toJson(event),
  metadata,
});

/** Appends a log's first event, which holds its id. */
export const appendLogOpened = async (log: EventLog): Promise<void> => {
  const opened = newEvent({ type: 'LogOpened', data: { logId: randomUUID(), createdAt: Date.now() } });
  await log.append(OPERATIONS_STREAM, 'no-stream', [opened]).catch((error: unknown) => {
    // Another process opened it at the same time; the first id counts.
    if (!(error instanceof WrongExpectedRevision)) throw error;
  });
};

/**
 * An event of this service as upstream would report it, so that the same rules hold for it everywhere.
 * @param now ms
 * @param metadata in addition to what a report has
 */
export const reportedEvent = (
  source: string,
  event: UpstreamEvent,
  now: number,
  metadata: object = {},
): { readonly stream: string; readonly event: NewEvent } => {
  const stream = streamOf(event);
  const id = randomUUID();
  const reported = newEvent(event, { source, id, time: formatInstant(now), ...metadata });
  return { stream, event: { ...reported, id: eventIdOf(source, id, event.type, stream) } };
};
