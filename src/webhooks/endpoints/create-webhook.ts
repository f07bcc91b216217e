import { randomBytes } from 'node:crypto';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { AtPosition } from '../../event-log/command-queue.js';
import type { Origin } from '../../http/access/origin.js';
import { idempotentRequest } from '../../http/body/idempotency-key.js';
import { Secrets } from './secrets.js';
import { StartPositions } from './start-position.js';
import type { Settings } from './webhook.js';
import { WebhookCommands } from './webhook-commands.js';
import { viewOf } from './webhook-view.js';
import type { WebhookDto } from '../webhooks.dto.js';

export interface CreatedWebhook {
  readonly webhook: WebhookDto;
  /** Absent if this result repeats the first response to the same `Idempotency-Key`. */
  readonly secret: string | undefined;
}

export class CreateWebhook extends Command<AtPosition<CreatedWebhook>> {
  constructor(
    readonly organization: string,
    readonly settings: Settings,
    /** The `from` of the request; absent for the current end of the feed. */
    readonly from: string | undefined,
    /** The `Idempotency-Key` of the request, if there is one. */
    readonly idempotencyKey: string | undefined,
    readonly origin: Origin = {},
  ) {
    super();
  }
}

const ID_BYTES = 12;
/** The content that two requests with the same `Idempotency-Key` must have in common. */
const contentOf = ({ settings, from }: CreateWebhook): string => {
  const { url, types, assetTypes, statuses, batch, description } = settings;
  return JSON.stringify([url, types, assetTypes, statuses, batch, description, from]);
};

@CommandHandler(CreateWebhook)
export class CreateWebhookHandler implements ICommandHandler<CreateWebhook> {
  constructor(
    private readonly webhooks: WebhookCommands,
    private readonly secrets: Secrets,
    private readonly positions: StartPositions,
  ) {}

  /** @throws Invalid, Conflict, Unprocessable, TooManyRequests or Unavailable */
  async execute(command: CreateWebhook): Promise<AtPosition<CreatedWebhook>> {
    const { organization, settings, from, origin } = command;
    const request = idempotentRequest(command.idempotencyKey, contentOf(command));
    const masterKey = this.secrets.newestKey();
    const start = await this.positions.find(organization, from);
    const webhookId = `wh_${randomBytes(ID_BYTES).toString('hex')}`;
    const { result, position } = await this.webhooks.execute(
      { type: 'Create', organization, webhookId, settings, start, masterKey, request },
      origin,
    );
    const { webhook, replayed } = result;
    if (!replayed)
      return {
        result: { webhook: viewOf(webhook, webhook.createdAt), secret: this.secrets.secretOf(webhook) },
        position,
      };
    // Repeat the first response, even if the webhook has been changed since then.
    const first = { ...webhook, ...settings, state: 'ACTIVE', updatedAt: webhook.createdAt } as const;
    const view = viewOf({ ...first, disabledReason: undefined, previousUntil: undefined }, webhook.createdAt);
    return { result: { webhook: view, secret: undefined }, position };
  }
}
