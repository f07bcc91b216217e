import { randomUUID } from 'node:crypto';
import { eventIdOf } from '../events/event-id.js';
import { type DomainEvent, toJson, type UpstreamEvent } from '../events/event.js';
import { formatInstant } from '../events/instant.js';
import { streamOf } from '../events/streams.js';
import type { NewEvent } from './event-log.js';

/** An event that this service decides, under a random id. */
export const newEvent = (event: DomainEvent, metadata: object = {}): NewEvent => ({
  id: randomUUID(),
  type: event.type,
  data: toJson(event),
  metadata,
});

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
