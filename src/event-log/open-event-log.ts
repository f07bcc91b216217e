import { Histogram, type Registry } from 'prom-client';
import { type EventLog, type NewEvent, type RecordedEvent, WrongExpectedRevision } from './event-log.js';
import { inSpan, type Attributes, type SpanOptions, tracing } from '../runtime/tracing.js';
import { Config } from '../runtime/config.js';
import { databaseTime } from '../postgres/clock.js';
import { createPool } from '../postgres/pool.js';
import { createPostgresLog } from './postgres/log.js';

/** Upper bounds, in seconds. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** Measures the duration of appends and counts failed appends, for Prometheus. */
export const timeAppends = (log: EventLog, registry: Registry): void => {
  const histogram = new Histogram({
    name: 'threat_protection_log_append_duration_seconds',
    help:
      'Duration of appends until they are durable; conflict: another append was first, and the command is decided again; ' +
      'failed: the log did not respond or rejected the append',
    labelNames: ['outcome'],
    buckets: BUCKETS,
    registers: [registry],
  });
  const [stored, conflict, failed] = ['stored', 'conflict', 'failed'].map((outcome) => {
    histogram.zero({ outcome });
    return histogram.labels({ outcome });
  });
  log.observeAppends(async (append) => {
    const startedAt = performance.now();
    const seconds = (): number => (performance.now() - startedAt) / 1_000;
    try {
      const result = await append();
      stored!.observe(seconds());
      return result;
    } catch (error) {
      (error instanceof WrongExpectedRevision ? conflict : failed)!.observe(seconds());
      throw error;
    }
  });
};

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
const traceAppends = (log: EventLog): EventLog => {
  const tracer = tracing;
  if (tracer === undefined) return log;
  log.observeAppends((append, events) => {
    // A process also appends events that no traced work has caused, which get no span.
    const span = tracer.active().length === 0 ? undefined : tracer.begin(appendSpan(log, events()));
    return inSpan(tracer, span, append);
  });
  return log;
};

/** Opens the log that the settings name. */
export const openEventLog = async (config: Config): Promise<EventLog> => {
  if (config.eventStoreUrl !== undefined) {
    // Loaded on demand, because loading the client takes a third of a second and tens of megabytes.
    const { createEventStoreDbLog } = await import('./eventstoredb/log.js');
    // The pool connects only when a subscription reads the clock.
    const pool = createPool(config.databaseUrl!, undefined, { max: 1 });
    const clock = { read: () => databaseTime(pool), close: () => pool.end() };
    return traceAppends(await createEventStoreDbLog(config.eventStoreUrl, clock));
  }
  // One of the six connections appends. The other five read, for example, the ends of the streams of groups.
  const [pool, subscriptionPool] = [6, 2].map((max) => createPool(config.databaseUrl!, undefined, { max }));
  return traceAppends(await createPostgresLog(pool!, subscriptionPool, config.migrates));
};
