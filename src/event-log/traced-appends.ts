import { inSpan, type Attributes, type SpanOptions, tracing } from '../runtime/tracing/tracing.js';
import type { EventLog, NewEvent, RecordedEvent } from './event-log.js';

/** Attributes of the log by OpenTelemetry's conventions for messaging. */
export const logAttributes = ({ positionUnit }: EventLog, events: number): Attributes => ({
  'messaging.system': positionUnit === 'events' ? 'postgresql' : 'eventstoredb',
  'messaging.destination.name': 'log',
  'messaging.batch.message_count': events,
});

/** Attributes of a single event by OpenTelemetry's conventions for CloudEvents; no attributes for several events. */
export const cloudEventAttributes = (
  events: readonly Pick<NewEvent | RecordedEvent, 'id' | 'type' | 'metadata'>[],
): Attributes => {
  const [event, other] = events;
  if (event === undefined || other !== undefined) return {};
  const { source, id } = (event.metadata ?? {}) as Readonly<Record<string, unknown>>;
  return {
    'cloudevents.event_type': event.type,
    'cloudevents.event_id': typeof id === 'string' ? id : event.id,
    ...(typeof source === 'string' && { 'cloudevents.event_source': source }),
  };
};

const appendSpan = (log: EventLog, events: readonly NewEvent[]): SpanOptions => ({
  name: 'append log',
  kind: 'producer',
  attributes: () => ({
    ...logAttributes(log, events.length),
    'messaging.operation.name': 'append',
    'messaging.operation.type': 'send',
    ...cloudEventAttributes(events),
  }),
});

/** Adds a span to each append of a log, if this process traces. */
export const traceAppends = (log: EventLog): EventLog => {
  const tracer = tracing;
  if (tracer === undefined) return log;
  log.observeAppends((append, events) => {
    // A process also appends events that no traced work has caused, which get no span.
    const span = tracer.active().length === 0 ? undefined : tracer.begin(appendSpan(log, events()));
    return inSpan(tracer, span, append);
  });
  return log;
};
