import { Injectable } from '@nestjs/common';
import { Unavailable } from '../../errors.js';
import type { AtPosition } from '../../event-log/command-queue.js';
import type { Origin } from '../../http/access/origin.js';
import { Checkpoints } from '../../read-models/checkpoints.js';
import type { WebhookCommand } from './webhook.js';
import { type CommandResult, WebhookCommands } from './webhook-commands.js';

/** A dead projector is replaced within 5 s; a retry after this meets the new one. ms */
const PATIENCE_MS = 4_000;

/** Changes of endpoints that the delivery process must have seen before they are answered. */
@Injectable()
export class VisibleChanges {
  constructor(
    private readonly commands: WebhookCommands,
    private readonly checkpoints: Checkpoints,
  ) {}

  /**
   * Executes a command and waits until the read model includes it. The delivery process reads an endpoint before each
   * delivery, so every later delivery uses the new settings.
   * @throws as `WebhookCommands.execute`; Unavailable also if the projector is not running, or too far behind: the change
   *   is stored then
   */
  async execute(command: WebhookCommand, origin: Origin): Promise<AtPosition<CommandResult>> {
    const executed = await this.commands.execute(command, origin);
    if (!(await this.checkpoints.reached(['webhooks'], executed.position, PATIENCE_MS)))
      throw new Unavailable('The change is stored, but deliveries do not follow it yet; repeat the request');
    return executed;
  }
}
