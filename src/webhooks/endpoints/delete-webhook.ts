import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { AtPosition } from '../../event-log/command-queue.js';
import type { Origin } from '../../http/access/origin.js';
import { AppliedWebhookCommands } from './webhook-commands.js';

/** Deletes an endpoint. No delivery starts after the response. */
export class DeleteWebhook extends Command<AtPosition<void>> {
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
  constructor(private readonly changes: AppliedWebhookCommands) {}

  async execute({ organization, webhookId, origin }: DeleteWebhook): Promise<AtPosition<void>> {
    const { position } = await this.changes.execute({ type: 'Delete', organization, webhookId }, origin);
    return { result: undefined, position };
  }
}
