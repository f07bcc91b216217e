import { Invalid } from '../../errors.js';
import type { NewEvent } from '../event-log.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** The server's limit for one append. The sizes below are upper estimates of what the server counts. */
const MAX_BYTES = 1_048_576;
const EVENT_OVERHEAD_BYTES = 256;
/** The maximum length in JSON of one UTF-16 unit (`\u0000`), and of a number. */
const MAX_UNIT_BYTES = 6;
const MAX_NUMBER_BYTES = 25;
const MAX_DEPTH = 8;

/** Returns an upper bound of the size of the JSON, in bytes, without encoding it; Infinity if the value is too deep. */
const jsonBytesAtMost = (value: unknown, depth = 0): number => {
  if (typeof value === 'string') return MAX_UNIT_BYTES * value.length + 2;
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return MAX_NUMBER_BYTES;
  if (typeof value !== 'object' || depth > MAX_DEPTH) return Number.POSITIVE_INFINITY;
  let bytes = 2;
  for (const name in value)
    bytes += MAX_UNIT_BYTES * name.length + 4 + jsonBytesAtMost((value as Record<string, unknown>)[name], depth + 1);
  return bytes;
};

const jsonBytes = (value: object): number => Buffer.byteLength(JSON.stringify(value));

const bytesOf = (events: readonly NewEvent[], sizeOf: (value: object) => number): number => {
  let bytes = 0;
  for (const { type, data, metadata } of events)
    bytes += sizeOf(data) + sizeOf(metadata) + EVENT_OVERHEAD_BYTES + 2 * type.length;
  return bytes;
};

/**
 * Checks events before they are passed to the client: an event that the client cannot encode would fail all appends.
 * @throws Invalid, or TypeError for data that is not JSON
 */
export const requireWritable = (stream: string, events: readonly NewEvent[]): void => {
  if (events.length === 0) throw new RangeError(`Nothing to append to ${stream}`);
  for (const { id, type } of events) {
    if (!UUID.test(id)) throw new Invalid(`Event id "${id}" for ${stream} is not a lower-case UUID`);
    if (type === '') throw new Invalid(`Event ${id} for ${stream} has no type`);
  }
  if (bytesOf(events, jsonBytesAtMost) <= MAX_BYTES) return;
  const bytes = bytesOf(events, jsonBytes);
  if (bytes > MAX_BYTES)
    throw new Invalid(
      `The events for ${stream} are ${bytes} bytes together; the event store takes ${MAX_BYTES} at once`,
    );
};
