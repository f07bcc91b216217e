import { Invalid } from '../../errors.js';
import type { NewEvent } from '../event-log.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** What the server takes in one append, which it counts generously. */
const MAX_BYTES = 1_048_576;
const EVENT_OVERHEAD_BYTES = 256;
/** The most JSON takes for one UTF-16 unit (`\u0000`), and for a number. */
const MAX_UNIT_BYTES = 6;
const MAX_NUMBER_BYTES = 25;
const MAX_DEPTH = 8;

/** No less than the bytes of its JSON, without making it; Infinity where only the JSON tells. */
const jsonBytesAtMost = (value: unknown, depth = 0): number => {
  if (typeof value === 'string') return MAX_UNIT_BYTES * value.length + 2;
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return MAX_NUMBER_BYTES;
  if (typeof value !== 'object' || depth > MAX_DEPTH) return Number.POSITIVE_INFINITY;
  let bytes = 2;
  for (const name in value)
    bytes += MAX_UNIT_BYTES * name.length + 4 + jsonBytesAtMost((value as Record<string, unknown>)[name], depth + 1);
  return bytes;
};

const bytesOf = (value: object): number => Buffer.byteLength(JSON.stringify(value));

/**
 * Looks at events before the client sees them: one it cannot write would break the appends of everyone else.
 * @throws Invalid, or TypeError for data that is not JSON
 */
export const requireWritable = (stream: string, events: readonly NewEvent[]): void => {
  if (events.length === 0) throw new RangeError(`Nothing to append to ${stream}`);
  let atMost = 0;
  for (const { id, type, data, metadata } of events) {
    if (!UUID.test(id)) throw new Invalid(`Event id "${id}" for ${stream} is not a lower-case UUID`);
    if (type === '') throw new Invalid(`Event ${id} for ${stream} has no type`);
    atMost += jsonBytesAtMost(data) + jsonBytesAtMost(metadata) + EVENT_OVERHEAD_BYTES + 2 * type.length;
  }
  if (atMost <= MAX_BYTES) return;
  const bytes = events.reduce(
    (sum, { type, data, metadata }) => sum + bytesOf(data) + bytesOf(metadata) + EVENT_OVERHEAD_BYTES + 2 * type.length,
    0,
  );
  if (bytes > MAX_BYTES)
    throw new Invalid(
      `The events for ${stream} are ${bytes} bytes together; the event store takes ${MAX_BYTES} at once`,
    );
};
