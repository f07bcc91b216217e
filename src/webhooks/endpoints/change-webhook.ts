import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { AtPosition } from '../../event-log/command-queue.js';
import type { Webhook } from '../../events/types/webhooks.js';
import type { Origin } from '../../http/access/origin.js';
import type { Settings } from './webhook.js';
import { AppliedWebhookCommands } from './webhook-commands.js';

/** Changes an endpoint. Deliveries that start after the response use the new settings. */
export class ChangeWebhook extends Command<AtPosition<Webhook>> {
  constructor(
    readonly organization: string,
    readonly webhookId: string,
    /** Absent settings keep their value. */
    readonly settings: Partial<Settings>,
    readonly state: 'ACTIVE' | 'DISABLED' | undefined,
    readonly origin: Origin = {},
  ) {
    super();
  }
}

@CommandHandler(ChangeWebhook)
export class ChangeWebhookHandler implements ICommandHandler<ChangeWebhook> {
  constructor(private readonly changes: AppliedWebhookCommands) {}

  async execute({ organization, webhookId, settings, state, origin }: ChangeWebhook): Promise<AtPosition<Webhook>> {
    const command = { type: 'Change', organization, webhookId, settings, state } as const;
    const { result, position } = await this.changes.execute(command, origin);
    return { result: result.webhook, position };
  }
}
