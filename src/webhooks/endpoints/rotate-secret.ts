import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { formatInstant } from '../../events/instant.js';
import type { Origin } from '../../http/access/origin.js';
import { Secrets } from './secrets.js';
import { WebhookCommands } from './webhook-commands.js';
import type { RotatedSecretDto } from '../webhooks.dto.js';

/** Makes a new secret for an endpoint. */
export class RotateSecret extends Command<RotatedSecretDto> {
  constructor(
    readonly organization: string,
    readonly webhookId: string,
    /** Whether even while two sign: the oldest no longer does then. */
    readonly force: boolean,
    readonly origin: Origin = {},
  ) {
    super();
  }
}

@CommandHandler(RotateSecret)
export class RotateSecretHandler implements ICommandHandler<RotateSecret> {
  constructor(
    private readonly webhooks: WebhookCommands,
    private readonly secrets: Secrets,
  ) {}

  async execute({ organization, webhookId, force, origin }: RotateSecret): Promise<RotatedSecretDto> {
    const masterKey = this.secrets.newestKey();
    const rotate = { type: 'Rotate', organization, webhookId, masterKey, force } as const;
    const { webhook } = await this.webhooks.execute(rotate, origin);
    return {
      id: webhookId,
      secret: this.secrets.show(webhook),
      previousSecretUntil: formatInstant(webhook.previousUntil!),
    };
  }
}
