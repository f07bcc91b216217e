import type { ContentRedacted } from '../../events/types/redactions.js';
import type { UpstreamEvent } from '../../events/event.js';
import { eventIdOf, OWN_SOURCE } from '../../events/event-id.js';
import { recordOf } from '../../events/record.js';
import { redactData } from '../../events/redacted.js';
import { hashOf } from '../../events/stored-key.js';
import { ERASED_TYPE, isStreamOf, streamOf } from '../../events/streams.js';
import type { Asset } from '../../assets/asset.js';
import { KEY_VERSION } from '../../assets/keys.js';
import { newEvent } from '../../event-log/new-event.js';
import { LOCK_EVENTS, REWRITE_CONTENTS } from '../../event-log/postgres/redaction-sql.js';
import { pause } from '../../flow/retry.js';
import { databaseTime } from '../../postgres/clock.js';
import { inTransaction } from '../../postgres/transaction.js';
import { awaitProjections } from '../erasing/await-projections.js';
import type { Session } from '../runtime/session.js';

export type RedactedRecord = Omit<ContentRedacted['data'], 'redactedAt'>;

/** An event whose content has to be redacted. */
export interface FoundEvent {
  readonly position: number;
  readonly eventId: string;
  readonly stream: string;
  readonly type: string;
  readonly record: RedactedRecord;
}

/** Events that are appended, or rewritten, in one transaction. */
const BATCH = 500;

type Fields = Readonly<Record<string, unknown>>;

/** Returns the record of an event about an asset. @param assetHash the hash of the asset, in hex */
export const recordOfAsset = (type: string, data: Fields, assetHash: string): RedactedRecord => {
  // The events of a dispute are about one record. `recordOf` knows the type that upstream sends.
  const event = { type: type === 'DisputeFiled' ? 'DisputeResolved' : type, data } as unknown as UpstreamEvent;
  const { organization, kind, id } = recordOf(event, assetHash);
  return { organization: organization || undefined, kind: kind as RedactedRecord['kind'], id, assetHash };
};

/** Returns the hash of an event's asset; undefined if the event has no valid asset. */
export const hashOfStored = ({ data, metadata }: { readonly data: Fields; readonly metadata: unknown }) => {
  const { type, content } = (data['asset'] ?? {}) as Partial<Asset>;
  if (typeof type !== 'string' || typeof content !== 'string') return undefined;
  return hashOf({ event: { data: { asset: { type, content } } }, metadata });
};

/** Appends one `ContentRedacted` per record and stream. @returns the position of the last one */
const appendRedactions = async <Found extends FoundEvent>(
  { pool, log }: Session,
  found: readonly Found[],
  operator: string,
  markOf: (lastEvent: Found) => number,
): Promise<number> => {
  const redactedAt = await databaseTime(pool);
  const records = new Map<string, { readonly stream: string; readonly last: Found }>();
  for (const last of found) {
    const { record } = last;
    const event = { type: 'ContentRedacted', data: { ...record, redactedAt } } as const;
    const stream = isStreamOf(last.stream, event) ? last.stream : streamOf(event);
    records.set(JSON.stringify([stream, record]), { stream, last });
  }
  const entries = [...records.values()].map(({ stream, last }) => {
    const { record } = last;
    const event = newEvent({ type: 'ContentRedacted', data: { ...record, redactedAt } }, { operator });
    const name = JSON.stringify([record, String(markOf(last))]);
    return { stream, event: { ...event, id: eventIdOf(OWN_SOURCE, name, event.type, stream) } };
  });
  let last = -1;
  for (let from = 0; from < entries.length; from += BATCH)
    for (const { position } of await log.appendAll(entries.slice(from, from + BATCH)))
      last = Math.max(last, Number(position));
  return last;
};

/** The event as it is stored after the redaction. The hash of the asset stays: it keeps the members of groups apart. */
const rewritten = (event: { readonly position: number; readonly data: Fields; readonly metadata: Fields }) => {
  const { position, data, metadata } = event;
  const hash = hashOfStored(event);
  const { version = KEY_VERSION } = (metadata['assetKey'] ?? {}) as { readonly version?: number };
  const key = hash === undefined ? {} : { assetKey: { version, hash } };
  return {
    position,
    data: JSON.stringify(redactData(data)),
    metadata: JSON.stringify({ ...metadata, ...key }),
  };
};

/**
 * Redacts the contents of events. First appends `ContentRedacted` for each record and waits until the projections have
 * applied these events, then rewrites the found events. A rebuild has the same rows at any time in between, and a call
 * that was killed can be repeated: the events of this service have the same ids again.
 * @param found in the order of the log
 * @param markOf returns the same number for the last event of a record when the call is repeated, so that the repeated
 *   call appends the same `ContentRedacted`
 * @param onRewritten receives the number of rewritten events
 */
export const redactEvents = async <Found extends FoundEvent>(
  session: Session,
  found: readonly Found[],
  operator: string,
  markOf: (lastEvent: Found) => number,
  onRewritten: (events: number) => void = () => {},
): Promise<void> => {
  const last = await appendRedactions(session, found, operator, markOf);
  await awaitProjections(session, last);
  for (let from = 0; from < found.length; from += BATCH) {
    const positions = found.slice(from, from + BATCH).map(({ position }) => position);
    const startedAt = performance.now();
    await inTransaction(session.pool, async (connection) => {
      const events = await LOCK_EVENTS.run(connection, { positions });
      const contents = events.filter(({ type }) => type !== ERASED_TYPE).map(rewritten);
      await REWRITE_CONTENTS.runEach(connection, contents);
    });
    onRewritten(Math.min(from + BATCH, found.length));
    await pause(performance.now() - startedAt);
  }
};

export const countByType = (found: readonly FoundEvent[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const { type } of found) counts[type] = (counts[type] ?? 0) + 1;
  return counts;
};
