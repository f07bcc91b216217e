import type { ApiKeyIssued, ApiKeyRevoked } from '../events/types/api-keys.js';
import { parseEvent } from '../events/event.js';
import { API_KEYS_STREAM } from '../events/streams.js';
import type { EventLog } from '../event-log/event-log.js';

const PAGE_SIZE = 500;

/**
 * Returns the operator that the metadata of an event names; undefined if the metadata names no operator, as in events
 * of earlier versions. Appending an event does not check the type of its metadata.
 */
const operatorOf = (metadata: unknown): string | undefined => {
  const { operator } = (metadata ?? {}) as Record<string, unknown>;
  return typeof operator === 'string' ? operator : undefined;
};

/** The position in the stream up to which the key events have been read. */
export interface KeyCursor {
  /** The next revision to read. */
  readonly next: bigint;
  /** The id of the event before `next`; undefined at the start. */
  readonly lastEventId: string | undefined;
}

export const NO_KEY_EVENTS_READ: KeyCursor = { next: 0n, lastEventId: undefined };

/** Key events that were read are no longer in the log, because a failover of the log's database lost events. */
export class KeyEventsLost extends Error {}

/**
 * Calls `onEvent` for each key event after `from`, in order. Invalid events are skipped.
 * @returns the cursor to continue from
 * @throws KeyEventsLost if the event before `from` is no longer in the log
 */
export const readKeyEvents = async (
  log: EventLog,
  from: KeyCursor,
  onEvent: (event: ApiKeyIssued | ApiKeyRevoked, operator: string | undefined) => void,
): Promise<KeyCursor> => {
  let { next, lastEventId } = from;
  for (;;) {
    // The page begins with the last known event, so that lost events are detected.
    const overlap = lastEventId === undefined ? 0 : 1;
    const page = await log.readStream(API_KEYS_STREAM, next - BigInt(overlap), PAGE_SIZE);
    if (overlap > 0 && page[0]?.id !== lastEventId)
      throw new KeyEventsLost('Key events that were read are no longer in the log');
    for (const { id, type, data, metadata, revision } of page.slice(overlap)) {
      next = revision + 1n;
      lastEventId = id;
      if (type !== 'ApiKeyIssued' && type !== 'ApiKeyRevoked') continue;
      const parsed = parseEvent<'ApiKeyIssued' | 'ApiKeyRevoked'>(type, data);
      if (parsed.event) onEvent(parsed.event, operatorOf(metadata));
    }
    if (page.length < PAGE_SIZE) return { next, lastEventId };
  }
};
