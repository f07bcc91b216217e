import type { EventLog } from '../event-log/event-log.js';
import type { Scope } from '../events/types/api-keys.js';
import { START_OF_STREAM } from '../event-log/stream-cursor.js';
import { readKeyEvents } from './key-events.js';

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
