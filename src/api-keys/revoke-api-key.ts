import { randomUUID } from 'node:crypto';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Conflict, NotFound } from '../errors.js';
import { EventLog } from '../event-log/event-log.js';
import type { ApiKeyRevoked } from '../events/api-keys.js';
import { toJson } from '../events/event.js';
import { API_KEYS_STREAM } from '../events/streams.js';
import { readKeyEvents } from './key-events.js';

/** Ends a key, on every instance within a second. */
export class RevokeApiKey extends Command<void> {
  constructor(
    readonly keyId: string,
    /** Who does it, kept in the event's metadata. */
    readonly operator?: string,
  ) {
    super();
  }
}

@CommandHandler(RevokeApiKey)
export class RevokeApiKeyHandler implements ICommandHandler<RevokeApiKey> {
  constructor(private readonly log: EventLog) {}

  /** @throws NotFound, and Conflict where it is revoked already */
  async execute({ keyId, operator }: RevokeApiKey): Promise<void> {
    let state: 'unknown' | 'issued' | 'revoked' = 'unknown';
    await readKeyEvents(this.log, 0n, ({ type, data }) => {
      if (data.keyId === keyId) state = type === 'ApiKeyIssued' ? 'issued' : 'revoked';
    });
    // The compiler does not see what the callback assigned.
    const found = state as 'unknown' | 'issued' | 'revoked';
    if (found === 'unknown') throw new NotFound(`There is no key ${keyId}`);
    if (found === 'revoked') throw new Conflict(`The key ${keyId} is revoked already`);
    const event: ApiKeyRevoked = { type: 'ApiKeyRevoked', data: { keyId, revokedAt: Date.now() } };
    await this.log.append(API_KEYS_STREAM, 'any', [
      { id: randomUUID(), type: event.type, data: toJson(event), metadata: { operator } },
    ]);
  }
}
