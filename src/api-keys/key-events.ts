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

/**
 * Passes on the key events from a revision on, in order. Undecodable ones are skipped: they issued no key.
 * @returns the revision to continue from
 */
export const readKeyEvents = async (
  log: EventLog,
  from: bigint,
  onEvent: (event: ApiKeyIssued | ApiKeyRevoked, operator: string | undefined) => void,
): Promise<bigint> => {
  let next = from;
  for (;;) {
    const page = await log.readStream(API_KEYS_STREAM, next, PAGE);
    for (const { type, data, metadata, revision } of page) {
      next = revision + 1n;
      if (type !== 'ApiKeyIssued' && type !== 'ApiKeyRevoked') continue;
      const parsed = parseEvent<'ApiKeyIssued' | 'ApiKeyRevoked'>(type, data);
      if (parsed.event) onEvent(parsed.event, operatorOf(metadata));
    }
    if (page.length < PAGE) return next;
  }
};
