import type { ApiKeyIssued, ApiKeyRevoked } from '../events/api-keys.js';
import { parseEvent } from '../events/event.js';
import { API_KEYS_STREAM } from '../events/streams.js';
import type { EventLog } from '../event-log/event-log.js';

const PAGE = 500;

/** Events from before operators were recorded have none; who appends directly may have stored anything. */
const operatorOf = (metadata: unknown): string | undefined => {
  const { operator } = (metadata ?? {}) as Record<string, unknown>;
  return typeof operator === 'string' ? operator : undefined;
};

/**
 * Hands over the key events from a revision on, in order. One that cannot be read is left out: whoever appended it
 * gave nobody a key.
 * @returns the revision to go on from
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
