import { randomBytes, randomUUID } from 'node:crypto';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Invalid } from '../errors.js';
import { EventLog } from '../event-log/event-log.js';
import type { ApiKeyIssued, Scope } from '../events/api-keys.js';
import { parseEvent, toJson } from '../events/event.js';
import { API_KEYS_STREAM } from '../events/streams.js';
import { createKey } from './key-format.js';
import { digestOf } from './key-ring.js';

export interface IssuedKey {
  readonly id: string;
  /** Shown this once; only its digest is kept. */
  readonly key: string;
}

export class IssueApiKey extends Command<IssuedKey> {
  constructor(
    readonly scopes: readonly Scope[],
    readonly organization?: string,
    readonly name?: string,
    /** ms */
    readonly expiresAt?: number,
    /** Who does it, kept in the event's metadata. */
    readonly operator?: string,
  ) {
    super();
  }
}

/** @throws Invalid where the key would be good for nothing, or more than an organization may have */
const decide = (command: IssueApiKey, keyHash: string, now: number): ApiKeyIssued => {
  const { scopes, organization, name, expiresAt } = command;
  if (organization === undefined && (scopes.length !== 1 || scopes[0] !== 'ingest'))
    throw new Invalid('A key without an organization may have the scope ingest only');
  if (expiresAt !== undefined && expiresAt <= now) throw new Invalid('The key would have expired already');
  const keyId = `key_${randomBytes(8).toString('hex')}`;
  const event: ApiKeyIssued = {
    type: 'ApiKeyIssued',
    data: { keyId, keyHash, name, organization, scopes, createdAt: now, expiresAt },
  };
  const issues = parseEvent(event.type, toJson(event)).issues?.map((issue) => issue.replace(/^data\./, '')) ?? [];
  if (issues.length > 0) throw new Invalid(issues[0]!, issues);
  return event;
};

@CommandHandler(IssueApiKey)
export class IssueApiKeyHandler implements ICommandHandler<IssueApiKey> {
  constructor(private readonly log: EventLog) {}

  async execute(command: IssueApiKey): Promise<IssuedKey> {
    const key = createKey();
    const event = decide(command, digestOf(key), Date.now());
    // Keys do not contradict one another, so the revision of the stream does not matter.
    await this.log.append(API_KEYS_STREAM, 'any', [
      { id: randomUUID(), type: event.type, data: toJson(event), metadata: { operator: command.operator } },
    ]);
    return { id: event.data.keyId, key };
  }
}
