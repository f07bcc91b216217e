import { Conflict, NotFound } from '../errors.js';
import type { EventLog } from '../event-log/event-log.js';
import { newEvent } from '../event-log/new-event.js';
import type { ApiKeyRevoked } from '../events/types/api-keys.js';
import { API_KEYS_STREAM } from '../events/streams.js';
import { listApiKeys } from './list-api-keys.js';

/**
 * Revokes a key. Every instance rejects the key within a second.
 * @param operator who revokes the key: the name of the OS user, as passed by the command line; stored in the event's
 *   metadata
 * @throws NotFound if the key does not exist, Conflict if it is already revoked
 */
export const revokeApiKey = async (log: EventLog, keyId: string, operator?: string): Promise<void> => {
  const key = (await listApiKeys(log)).find(({ id }) => id === keyId);
  if (!key) throw new NotFound(`Unknown key ${keyId}`);
  if (key.revokedAt !== undefined) throw new Conflict(`Key ${keyId} is already revoked`);
  const event: ApiKeyRevoked = { type: 'ApiKeyRevoked', data: { keyId, revokedAt: Date.now() } };
  await log.append(API_KEYS_STREAM, 'any', [newEvent(event, { operator })]);
};
