import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { Origin } from '../../http/access/origin.js';
import { WebhookCommands } from './webhook-commands.js';

/** Deletes an endpoint; no delivery begins after the answer. */
export class DeleteWebhook extends Command<void> {
  constructor(
    readonly organization: string,
    readonly webhookId: string,
    readonly origin: Origin = {},
  ) {
    super();
  }
}

@CommandHandler(DeleteWebhook)
export class DeleteWebhookHandler implements ICommandHandler<DeleteWebhook> {
  constructor(private readonly webhooks: WebhookCommands) {}

  async execute({ organization, webhookId, origin }: DeleteWebhook): Promise<void> {
    await this.webhooks.executeSeen({ type: 'Delete', organization, webhookId }, origin);
  }
}
