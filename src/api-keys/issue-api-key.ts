import { randomBytes } from 'node:crypto';
import { Invalid } from '../errors.js';
import type { EventLog } from '../event-log/event-log.js';
import { newEvent } from '../event-log/new-event.js';
import { requireValid } from '../event-log/require-valid.js';
import type { ApiKeyIssued, Scope } from '../events/types/api-keys.js';
import { API_KEYS_STREAM } from '../events/streams.js';
import { createKey } from './key-format.js';
import { digestOf } from './key-ring.js';

export interface NewKey {
  readonly scopes: readonly Scope[];
  readonly organization?: string | undefined;
  readonly name?: string | undefined;
  /** When the key expires, in ms. */
  readonly expiresAt?: number | undefined;
  /** Who issues the key: the name of the OS user, as passed by the command line. Stored in the event's metadata. */
  readonly operator?: string | undefined;
}

export interface IssuedKey {
  readonly id: string;
  /** The key itself. The key cannot be read again, because only its digest is stored. */
  readonly key: string;
}

/**
 * Issues an API key.
 * @throws Invalid if the expiry is in the past, or if the key has no organization and another scope than `ingest`
 */
export const issueApiKey = async (log: EventLog, newKey: NewKey): Promise<IssuedKey> => {
  const { scopes, organization, name, expiresAt } = newKey;
  const createdAt = Date.now();
  if (organization === undefined && (scopes.length !== 1 || scopes[0] !== 'ingest'))
    throw new Invalid('A key without an organization may have the scope ingest only');
  if (expiresAt !== undefined && expiresAt <= createdAt) throw new Invalid('The expiry must be in the future');
  const id = `key_${randomBytes(8).toString('hex')}`;
  const key = createKey();
  const event = requireValid<ApiKeyIssued>({
    type: 'ApiKeyIssued',
    data: { keyId: id, keyHash: digestOf(key), name, organization, scopes, createdAt, expiresAt },
  });
  // Keys are independent of each other, so the stream's revision does not matter.
  await log.append(API_KEYS_STREAM, 'any', [newEvent(event, { operator: newKey.operator })]);
  return { id, key };
};
