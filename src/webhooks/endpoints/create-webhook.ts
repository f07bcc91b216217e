import { hash, randomBytes } from 'node:crypto';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Invalid } from '../../errors.js';
import type { AtPosition } from '../../event-log/command-queue.js';
import type { IdempotentRequest } from '../../events/types/asset-groups.js';
import type { Origin } from '../../http/access/origin.js';
import { Secrets } from './secrets.js';
import { StartPlaces } from './start-place.js';
import type { Settings } from './webhook.js';
import { WebhookCommands } from './webhook-commands.js';
import { viewOf } from './webhook-view.js';
import type { WebhookDto } from '../webhooks.dto.js';

export interface CreatedWebhook {
  readonly webhook: WebhookDto;
  /** Absent if this repeats the first response to the same `Idempotency-Key`. */
  readonly secret: string | undefined;
}

export class CreateWebhook extends Command<AtPosition<CreatedWebhook>> {
  constructor(
    readonly organization: string,
    readonly settings: Settings,
    /** As sent; absent: the feed's present end. */
    readonly from: string | undefined,
    /** As sent; absent if the client sent none. */
    readonly idempotencyKey: string | undefined,
    readonly origin: Origin = {},
  ) {
    super();
  }
}

const ID_BYTES = 12;
const PRINTABLE = /^[\x20-\x7e]{1,255}$/;

/** Hashes what was read, so that whitespace, unknown fields and the order of names make no difference. */
const requestOf = ({ settings, from, idempotencyKey }: CreateWebhook): IdempotentRequest | undefined => {
  if (idempotencyKey === undefined) return undefined;
  if (!PRINTABLE.test(idempotencyKey)) throw new Invalid('Idempotency-Key must be 1 to 255 printable characters');
  const { url, types, assetTypes, statuses, batch, description } = settings;
  const body = JSON.stringify([url, types, assetTypes, statuses, batch, description, from]);
  return { idempotencyKeyHash: hash('sha256', idempotencyKey), bodyHash: hash('sha256', body) };
};

@CommandHandler(CreateWebhook)
export class CreateWebhookHandler implements ICommandHandler<CreateWebhook> {
  constructor(
    private readonly webhooks: WebhookCommands,
    private readonly secrets: Secrets,
    private readonly places: StartPlaces,
  ) {}

  /** @throws Invalid, Conflict, Unprocessable, TooManyRequests or Unavailable */
  async execute(command: CreateWebhook): Promise<AtPosition<CreatedWebhook>> {
    const { organization, settings, from, origin } = command;
    const request = requestOf(command);
    const masterKey = this.secrets.newestKey();
    const start = await this.places.find(organization, from);
    const webhookId = `wh_${randomBytes(ID_BYTES).toString('hex')}`;
    const { result, position } = await this.webhooks.execute(
      { type: 'Create', organization, webhookId, settings, start, masterKey, request },
      origin,
    );
    const { webhook, replayed } = result;
    if (!replayed)
      return { result: { webhook: viewOf(webhook, webhook.createdAt), secret: this.secrets.show(webhook) }, position };
    // As it was answered first, whatever has become of it.
    const first = { ...webhook, ...settings, state: 'ACTIVE', updatedAt: webhook.createdAt } as const;
    const view = viewOf({ ...first, disabledReason: undefined, previousUntil: undefined }, webhook.createdAt);
    return { result: { webhook: view, secret: undefined }, position };
  }
}
