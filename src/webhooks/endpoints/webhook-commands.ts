import { Injectable, Optional } from '@nestjs/common';
import { Pool } from 'pg';
import { Unavailable } from '../../errors.js';
import { type AtPosition, CommandQueue } from '../../event-log/command-queue.js';
import { EventLog } from '../../event-log/event-log.js';
import { webhooksStream } from '../../events/streams.js';
import type { Webhook } from '../../events/types/webhooks.js';
import type { Origin } from '../../http/access/origin.js';
import { Checkpoints } from '../../read-models/checkpoints/checkpoints.js';
import { DailyQuota } from '../../quotas/daily-quota.js';
import { type LoadedWebhooks, loadWebhooks } from './load-webhooks.js';
import { type Accepted, decide, type Decision, evolve, type WebhookCommand } from './webhook.js';

const MAX_COMMANDS = 50;
/** Commands of one organization that may wait in this process: with the longest addresses and filters 2 MB. */
const MAX_WAITING = 200;
/** A dead projector is replaced within 5 s; a retry after this meets the new one. ms */
const PATIENCE_MS = 4_000;

/** What a command has done. */
export interface CommandResult {
  /** As it is now. */
  readonly webhook: Webhook;
  /** Whether this repeats the first response to the same `Idempotency-Key`. */
  readonly replayed: boolean;
}

/** Whose change it is, as the events' metadata says it. */
type Author = Origin | { readonly operator: string | undefined } | { readonly process: 'webhooks' };

/** Decides and stores the commands about endpoints. */
@Injectable()
export class WebhookCommands {
  private readonly commands: CommandQueue<WebhookCommand, LoadedWebhooks, Decision>;

  constructor(
    log: EventLog,
    pool: Pool,
    /** Absent: what the service or its operator changes is charged to nobody. */
    @Optional() quota?: DailyQuota,
  ) {
    const rules = {
      name: 'webhooks',
      maxCommands: MAX_COMMANDS,
      maxWaiting: MAX_WAITING,
      stream: webhooksStream,
      load: (organization: string, commands: readonly WebhookCommand[]) =>
        loadWebhooks(pool, log, organization, keysOf(commands)),
      decide: (webhooks: LoadedWebhooks, command: WebhookCommand, now: number) => decide(webhooks, command, now),
      apply: (webhooks: LoadedWebhooks, { events }: Decision) => {
        for (const event of events) evolve(webhooks, event);
      },
    };
    this.commands = new CommandQueue(log, rules, quota);
  }

  /**
   * @throws Conflict, NotFound or Unprocessable if the command is refused
   * @throws TooManyRequests if the organization's daily quota is used up, or too many of its commands are waiting
   * @throws Unavailable if the outcome is unknown or nothing was done
   */
  async execute(command: WebhookCommand, author: Author = {}): Promise<AtPosition<CommandResult>> {
    const { decision, position } = await this.commands.execute(command, author);
    const { webhook, replayed = false } = decision as Accepted;
    return { result: { webhook, replayed }, position };
  }
}

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
      throw new Unavailable('The change is stored, but has not taken effect yet; repeat the request');
    return executed;
  }
}

const keysOf = (commands: readonly WebhookCommand[]): string[] =>
  commands.flatMap((command) =>
    command.type === 'Create' && command.request ? [command.request.idempotencyKeyHash] : [],
  );
