import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { AtPosition } from '../../event-log/command-queue.js';
import { formatInstant } from '../../events/instant.js';
import type { Origin } from '../../http/access/origin.js';
import { Secrets } from './secrets.js';
import { WebhookCommands } from './webhook-commands.js';
import type { RotatedSecretDto } from '../webhooks.dto.js';

/** Creates a new secret for an endpoint. */
export class RotateSecret extends Command<AtPosition<RotatedSecretDto>> {
  constructor(
    readonly organization: string,
    readonly webhookId: string,
    /** Rotates even if two secrets are in use; the older of the two stops signing. */
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

  async execute({ organization, webhookId, force, origin }: RotateSecret): Promise<AtPosition<RotatedSecretDto>> {
    const masterKey = this.secrets.newestKey();
    const rotate = { type: 'Rotate', organization, webhookId, masterKey, force } as const;
    const {
      result: { webhook },
      position,
    } = await this.webhooks.execute(rotate, origin);
    const previousSecretUntil = formatInstant(webhook.previousUntil!);
    return { result: { id: webhookId, secret: this.secrets.secretOf(webhook), previousSecretUntil }, position };
  }
}
