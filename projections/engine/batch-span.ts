import type { Batch, EventLog, RecordedEvent } from '../../src/event-log/event-log.js';
import { cloudEventAttributes, logAttributes } from '../../src/event-log/traced-appends.js';
import type { Span, Tracing } from '../../src/tracing/tracing.js';
import { isSampled, traceparentOf } from '../../src/tracing/traceparent.js';
import type { Projection } from './projection.js';

/** Traces that a batch is linked to: as many as OpenTelemetry keeps. */
const MAX_LINKS = 128;

/** Where the recorded traces have stored events, each once. */
const tracesOf = (events: readonly RecordedEvent[]): string[] => {
  const traces = new Set<string>();
  for (const { metadata } of events) {
    const traceparent = traceparentOf((metadata as { traceparent?: unknown } | null)?.traceparent);
    if (traceparent !== undefined && isSampled(traceparent)) traces.add(traceparent);
    if (traces.size === MAX_LINKS) break;
  }
  return [...traces];
};

/**
 * Begins to trace a batch, if this process traces: linked to each recorded trace that stored events of it, and part of
 * the first, whose sampling it shares.
 */
export const batchSpan = (
  tracer: Tracing | undefined,
  log: EventLog,
  projections: readonly Projection[],
  { events }: Pick<Batch, 'events'>,
): Span | undefined => {
  if (tracer === undefined || events.length === 0) return undefined;
  const links = tracesOf(events);
  return tracer.begin({
    name: 'process log',
    kind: 'consumer',
    attributes: () => ({
      ...logAttributes(log, events.length),
      'messaging.operation.name': 'process',
      'messaging.operation.type': 'process',
      'messaging.consumer.group.name': projections.map(({ name }) => name).join(','),
      ...cloudEventAttributes(events),
    }),
    parent: links[0],
    links,
  });
};
