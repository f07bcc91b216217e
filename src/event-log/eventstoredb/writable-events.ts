import { Invalid } from '../../errors.js';
import type { NewEvent } from '../event-log.js';
import type { WritableEvent } from './client.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** What the server takes in one append, which it counts generously. */
const MAX_BYTES = 1_048_576;
const EVENT_OVERHEAD_BYTES = 256;

/** As the client asks for them: of no other class than this one. */
const bytesOf = (text: string): Uint8Array => {
  const { buffer, byteOffset, length } = Buffer.from(text);
  return new Uint8Array(buffer, byteOffset, length);
};

/**
 * Looks at events before the client sees them: one it cannot write would break the appends of everyone else.
 * @throws Invalid, or TypeError for data that is not JSON
 */
export const writableEvents = (stream: string, events: readonly NewEvent[]): WritableEvent[] => {
  if (events.length === 0) throw new RangeError(`Nothing to append to ${stream}`);
  let bytes = 0;
  const writable = events.map((event): WritableEvent => {
    const { id, type, data } = event;
    if (!UUID.test(id)) throw new Invalid(`Event id "${id}" for ${stream} is not a lower-case UUID`);
    if (type === '') throw new Invalid(`Event ${id} for ${stream} has no type`);
    const metadata = bytesOf(JSON.stringify(event.metadata));
    bytes += Buffer.byteLength(JSON.stringify(data)) + metadata.length + EVENT_OVERHEAD_BYTES + 2 * type.length;
    return { id, type, contentType: 'application/json', data, metadata };
  });
  if (bytes > MAX_BYTES)
    throw new Invalid(
      `The events for ${stream} are ${bytes} bytes together; the event store takes ${MAX_BYTES} at once`,
    );
  return writable;
};
