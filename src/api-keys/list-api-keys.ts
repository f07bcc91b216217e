import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { EventLog } from '../event-log/event-log.js';
import type { Scope } from '../events/api-keys.js';
import { readKeyEvents } from './key-events.js';

/** A key as an operator sees it; the key itself is known to its holder only. */
export interface ApiKey {
  readonly id: string;
  readonly name: string | undefined;
  readonly organization: string | undefined;
  readonly scopes: readonly Scope[];
  /** ms */
  readonly createdAt: number;
  readonly expiresAt: number | undefined;
  readonly revokedAt: number | undefined;
}

/** Every key ever issued, in the order of issue, straight from the log. */
export class ListApiKeys extends Query<ApiKey[]> {}

@QueryHandler(ListApiKeys)
export class ListApiKeysHandler implements IQueryHandler<ListApiKeys> {
  constructor(private readonly log: EventLog) {}

  async execute(): Promise<ApiKey[]> {
    const keys = new Map<string, ApiKey>();
    await readKeyEvents(this.log, 0n, ({ type, data }) => {
      if (type === 'ApiKeyIssued') {
        const { keyId: id, name, organization, scopes, createdAt, expiresAt } = data;
        keys.set(id, { id, name, organization, scopes, createdAt, expiresAt, revokedAt: undefined });
        return;
      }
      const key = keys.get(data.keyId);
      if (key && key.revokedAt === undefined) keys.set(key.id, { ...key, revokedAt: data.revokedAt });
    });
    return [...keys.values()];
  }
}
