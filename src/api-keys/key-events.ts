import type { ApiKeyIssued, ApiKeyRevoked } from '../events/types/api-keys.js';
import { parseEvent } from '../events/event.js';
import { API_KEYS_STREAM } from '../events/streams.js';
import type { EventLog } from '../event-log/event-log.js';
import { followStream, type StreamCursor } from '../event-log/stream-cursor.js';

/**
 * Returns the operator that the metadata of an event names; undefined if the metadata names no operator, as in events
 * of earlier versions. Appending an event does not check the type of its metadata.
 */
const operatorOf = (metadata: unknown): string | undefined => {
  const { operator } = (metadata ?? {}) as Record<string, unknown>;
  return typeof operator === 'string' ? operator : undefined;
};

/**
 * Calls `onEvent` for each key event after `from`, in order. Invalid events are skipped.
 * @returns the cursor to continue from
 * @throws EventsLost if the event before `from` is no longer in the log
 */
export const readKeyEvents = (
  log: EventLog,
  from: StreamCursor,
  onEvent: (event: ApiKeyIssued | ApiKeyRevoked, operator: string | undefined) => void,
): Promise<StreamCursor> =>
  followStream(log, API_KEYS_STREAM, 'Key events', from, ({ type, data, metadata }) => {
    if (type !== 'ApiKeyIssued' && type !== 'ApiKeyRevoked') return;
    const parsed = parseEvent<'ApiKeyIssued' | 'ApiKeyRevoked'>(type, data);
    if (parsed.event) onEvent(parsed.event, operatorOf(metadata));
  });
