import { randomBytes } from 'node:crypto';
import { Invalid, Conflict, NotFound } from '../errors.js';
import type { EventLog } from '../event-log/event-log.js';
import { newEvent, requireValid } from '../event-log/new-event.js';
import type { ApiKeyIssued, Scope, ApiKeyRevoked } from '../events/types/organizations.js';
import { API_KEYS_STREAM } from '../events/streams.js';
import { createKey, digestOf, isWellFormed, readKeyEvents } from './key-ring.js';
import { START_OF_STREAM } from '../event-log/read-streams.js';

interface NewKey {
  readonly scopes: readonly Scope[];
  readonly organization?: string | undefined;
  readonly name?: string | undefined;
  /** When the key expires, in ms. */
  readonly expiresAt?: number | undefined;
  /** Who issues the key: the name of the OS user, as passed by the command line. Stored in the event's metadata. */
  readonly operator?: string | undefined;
}

interface IssuedKey {
  readonly id: string;
  /** The key itself. The key cannot be read again, because only its digest is stored. */
  readonly key: string;
}

/** The scopes of what belongs to no organization. */
const WITHOUT_ORGANIZATION: readonly (Scope | undefined)[] = ['ingest', 'lists'];

/**
 * Issues an API key.
 * @throws Invalid if the expiry is in the past, or if the key has no organization and another scope than
 *   `ingest` or `lists`
 */
export const issueApiKey = async (log: EventLog, newKey: NewKey): Promise<IssuedKey> => {
  const { scopes, organization, name, expiresAt } = newKey;
  const createdAt = Date.now();
  if (organization === undefined && (scopes.length !== 1 || !WITHOUT_ORGANIZATION.includes(scopes[0])))
    throw new Invalid('A key without an organization may have one of the scopes ingest and lists only');
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

/** The metadata of a key. The key itself is not stored. */
export interface ApiKey {
  readonly id: string;
  readonly name: string | undefined;
  readonly organization: string | undefined;
  readonly scopes: readonly Scope[];
  /** When the key was issued, in ms. */
  readonly createdAt: number;
  readonly expiresAt: number | undefined;
  readonly revokedAt: number | undefined;
  /** The operating system user who issued the key; undefined if the event does not name an operator. */
  readonly issuedBy: string | undefined;
  readonly revokedBy: string | undefined;
}

/** Lists all keys that were ever issued, in the order in which they were issued. Reads the log. */
export const listApiKeys = async (log: EventLog): Promise<ApiKey[]> => {
  const keys = new Map<string, ApiKey>();
  await readKeyEvents(log, START_OF_STREAM, ({ type, data }, operator) => {
    if (type === 'ApiKeyIssued') {
      const { keyId: id, name, organization, scopes, createdAt, expiresAt } = data;
      const record = { id, name, organization, scopes, createdAt, expiresAt };
      keys.set(id, { ...record, revokedAt: undefined, issuedBy: operator, revokedBy: undefined });
      return;
    }
    const key = keys.get(data.keyId);
    if (key && key.revokedAt === undefined)
      keys.set(key.id, { ...key, revokedAt: data.revokedAt, revokedBy: operator });
  });
  return [...keys.values()];
};

/**
 * Returns the id of a key, also if it was revoked. Reads the log. Error messages never contain the key.
 * @throws Invalid if the text has not the format and checksum of a key, NotFound if the key is not in the log
 */
export const findApiKey = async (log: EventLog, key: string): Promise<string> => {
  if (!isWellFormed(key)) throw new Invalid('This is not a complete key: a key is `tp_` and 36 letters and digits');
  const digest = digestOf(key);
  let id: string | undefined;
  await readKeyEvents(log, START_OF_STREAM, ({ type, data }) => {
    if (type === 'ApiKeyIssued' && data.keyHash === digest) id = data.keyId;
  });
  if (id === undefined) throw new NotFound('The log of this service does not contain this key');
  return id;
};

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
