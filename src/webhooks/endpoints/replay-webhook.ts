import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { AtPosition } from '../../event-log/command-queue.js';
import type { Webhook } from '../../events/types/webhooks.js';
import type { Origin } from '../../http/access/origin.js';
import { StartPositions } from './start-position.js';
import { WebhookCommands } from './webhook-commands.js';

/** Moves the cursor of an endpoint to `from`. */
export class ReplayWebhook extends Command<AtPosition<Webhook>> {
  constructor(
    readonly organization: string,
    readonly webhookId: string,
    /** `beginning`, or an ISO time. */
    readonly from: string,
    readonly origin: Origin = {},
  ) {
    super();
  }
}

@CommandHandler(ReplayWebhook)
export class ReplayWebhookHandler implements ICommandHandler<ReplayWebhook> {
  constructor(
    private readonly webhooks: WebhookCommands,
    private readonly positions: StartPositions,
  ) {}

  async execute({ organization, webhookId, from, origin }: ReplayWebhook): Promise<AtPosition<Webhook>> {
    const start = await this.positions.find(organization, from);
    const replay = { type: 'Replay', organization, webhookId, start } as const;
    const { result, position } = await this.webhooks.execute(replay, origin);
    return { result: result.webhook, position };
  }
}
