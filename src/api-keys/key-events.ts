import type { ApiKeyIssued, ApiKeyRevoked } from '../events/types/api-keys.js';
import { parseEvent } from '../events/event.js';
import { API_KEYS_STREAM } from '../events/streams.js';
import type { EventLog } from '../event-log/event-log.js';

const PAGE = 500;

/** Absent from events written before operators were recorded; metadata of direct appends may be anything. */
const operatorOf = (metadata: unknown): string | undefined => {
  const { operator } = (metadata ?? {}) as Record<string, unknown>;
  return typeof operator === 'string' ? operator : undefined;
};

/** How far the key events have been read. */
export interface KeyPlace {
  /** The revision to continue from. */
  readonly next: bigint;
  /** The id of the event before it; undefined before the first. */
  readonly last: string | undefined;
}

export const NO_KEYS: KeyPlace = { next: 0n, last: undefined };

/** Key events that were read are no longer in the log: a failover of its database has lost events. */
export class KeysLost extends Error {}

/**
 * Passes on the key events from a place on, in order. Undecodable ones are skipped: they issued no key.
 * @returns the place to continue from
 * @throws KeysLost
 */
export const readKeyEvents = async (
  log: EventLog,
  from: KeyPlace,
  onEvent: (event: ApiKeyIssued | ApiKeyRevoked, operator: string | undefined) => void,
): Promise<KeyPlace> => {
  let { next, last } = from;
  for (;;) {
    // The last one again, to see that it is still there.
    const known = last === undefined ? 0 : 1;
    const page = await log.readStream(API_KEYS_STREAM, next - BigInt(known), PAGE);
    if (known > 0 && page[0]?.id !== last) throw new KeysLost('Key events that were read are no longer in the log');
    for (const { id, type, data, metadata, revision } of page.slice(known)) {
      next = revision + 1n;
      last = id;
      if (type !== 'ApiKeyIssued' && type !== 'ApiKeyRevoked') continue;
      const parsed = parseEvent<'ApiKeyIssued' | 'ApiKeyRevoked'>(type, data);
      if (parsed.event) onEvent(parsed.event, operatorOf(metadata));
    }
    if (page.length < PAGE) return { next, last };
  }
};
