import type { Batch, EventLog, RecordedEvent } from '../../src/event-log/event-log.js';
import { cloudEventAttributes, logAttributes } from '../../src/event-log/traced-appends.js';
import type { Span, Tracing } from '../../src/runtime/tracing/tracing.js';
import { isSampled, traceparentOf } from '../../src/runtime/tracing/traceparent.js';
import type { Projection } from './projection.js';

/** Maximum number of links of a span, which is the default limit of OpenTelemetry. */
const MAX_LINKS = 128;

/** The distinct sampled traces that appended these events. */
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
 * Starts a span for a batch. The span is a child of the first sampled trace that appended events of the batch, and has
 * links to all such traces.
 * @returns undefined if tracing is disabled or the batch is empty
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
