import { randomUUID } from 'node:crypto';
import { eventIdOf, streamOf } from '../../src/events/streams.js';
import type { EventLog, NewEvent, RecordedEvent } from '../../src/event-log/event-log.js';
import { parseEvent, toJson, UPSTREAM, type UpstreamEvent } from '../../src/events/event.js';
import { newStoredKey } from '../../src/events/stored-key.js';
import type { TestApp } from './app.js';
import type { ApiResponse } from './call.js';

/** An event as an upstream sender sends it. */
export interface Sent {
  readonly id: string;
  readonly type: UpstreamEvent['type'];
  readonly data: Record<string, unknown>;
}

export const SOURCE = 'urn:test:upstream';

export const sent = (type: UpstreamEvent['type'], data: Record<string, unknown>, id: string = randomUUID()): Sent => ({
  id,
  type,
  data,
});

/** Valid data for each event type: the example of its declaration. */
export const EXAMPLES = Object.fromEntries(UPSTREAM.map(({ type, example }) => [type, example])) as Readonly<
  Record<UpstreamEvent['type'], Readonly<Record<string, unknown>>>
>;

/** A `ThreatStatusChanged` event. By default it belongs to acme and counts as a new threat. */
export const sentThreat = (threatId: string, data: object = {}, id?: string): Sent =>
  sent('ThreatStatusChanged', { ...EXAMPLES.ThreatStatusChanged, threatId, ...data }, id);

/** A `ReportFiled` event. By default it belongs to acme and is counted. */
export const sentReport = (reportId: string, data: object = {}, id?: string): Sent =>
  sent('ReportFiled', { ...EXAMPLES.ReportFiled, brands: [], reportId, ...data }, id);

/** An `AssetStatusChanged` event. By default it blocks the asset for every organization. */
export const sentStatus = (changeId: string, data: object = {}, id?: string): Sent =>
  sent('AssetStatusChanged', { ...EXAMPLES.AssetStatusChanged, brandReviews: [], changeId, ...data }, id);

/** Returns the event as CloudEvents JSON. */
export const cloudEvent = ({ id, type, data }: Sent): Record<string, unknown> => ({
  specversion: '1.0',
  id,
  source: SOURCE,
  type,
  time: '2026-01-01T00:00:00Z',
  data,
});

/** Returns the stream and the event that the ingestion endpoint would store. */
export const stored = ({ id, type, data }: Sent): { stream: string; event: NewEvent } => {
  const { event, issues } = parseEvent(type, data);
  if (!event) throw new Error(`The event of the spec is invalid: ${issues.join('; ')}`);
  const assetKey = newStoredKey(event);
  const metadata = { source: SOURCE, id, time: '2026-01-01T00:00:00.000Z', ...(assetKey && { assetKey }) };
  const stream = streamOf(event, assetKey?.hash);
  return { stream, event: { id: eventIdOf(SOURCE, id, type, stream), type, data: toJson(event), metadata } };
};

/** Returns the id of the stored event. */
export const eventId = ({ id, type, data }: Sent): string =>
  eventIdOf(SOURCE, id, type, streamOf({ type, data } as unknown as UpstreamEvent));

/**
 * Returns the events as a log that has stored them in this order returns them. Repeated events are stored repeatedly.
 */
export const recordedInOrder = (events: readonly Sent[]): RecordedEvent[] => {
  const revisions = new Map<string, bigint>();
  return events.map((one, index) => {
    const { stream, event } = stored(one);
    const revision = (revisions.get(stream) ?? -1n) + 1n;
    revisions.set(stream, revision);
    return { ...event, stream, revision, position: BigInt(index), recordedAt: 1_767_225_600_000 + index };
  });
};

/** Sends events to the endpoint as upstream does. */
export const sendEvents = (app: TestApp, key: string, events: readonly Sent[], query = ''): Promise<ApiResponse> =>
  app.call(`/v2/events${query}`, {
    key,
    headers: { 'content-type': 'application/cloudevents-batch+json' },
    json: events.map(cloudEvent),
  });

/**
 * Sends events to the endpoint as upstream does, with a key of scope `ingest`.
 * @returns the response, for the option `after` of a later call
 * @throws Error if an event was not accepted
 */
export const report = async (app: TestApp, key: string, events: readonly Sent[]): Promise<ApiResponse> => {
  const answer = await sendEvents(app, key, events);
  if (answer.body.accepted !== events.length) throw new Error(`Not all accepted: ${JSON.stringify(answer.body)}`);
  return answer;
};

/**
 * Returns a function that reports the same of several contents to a log, as upstream does. Each report is newer than those
 * before.
 * @param logOf returns the log when the function is called
 */
export const contentReporter = (logOf: () => Pick<EventLog, 'appendAll'>) => {
  let changes = 0;
  return async (contents: readonly string[], data: object): Promise<void> => {
    const events = contents.map((content) => {
      const at = new Date(Date.UTC(2026, 2, 1) + ++changes * 1_000).toISOString();
      const asset = { type: 'URL', content };
      return sentStatus(`change-${changes}`, { asset, createdAt: at, updatedAt: at, ...data });
    });
    await logOf().appendAll(events.map(stored));
  };
};
