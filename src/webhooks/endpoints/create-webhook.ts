import { randomBytes } from 'node:crypto';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { AtPosition } from '../../event-log/command-queue.js';
import type { Origin } from '../../http/access/origin.js';
import { idempotentRequest } from '../../http/body/idempotency-key.js';
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
/** What two requests must have in common to be the same. */
const contentOf = ({ settings, from }: CreateWebhook): string => {
  const { url, types, assetTypes, statuses, batch, description } = settings;
  return JSON.stringify([url, types, assetTypes, statuses, batch, description, from]);
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
    const request = idempotentRequest(command.idempotencyKey, contentOf(command));
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
