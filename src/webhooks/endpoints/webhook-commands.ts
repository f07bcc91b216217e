import { Injectable, Optional } from '@nestjs/common';
import { Pool } from 'pg';
import { Unavailable } from '../../errors.js';
import { CommandQueue } from '../../event-log/command-queue.js';
import { EventLog } from '../../event-log/event-log.js';
import { webhooksStream } from '../../events/streams.js';
import type { Webhook } from '../../events/types/webhooks.js';
import { pause } from '../../flow/retry.js';
import type { Origin } from '../../http/access/origin.js';
import { DailyQuota } from '../../quotas/daily-quota.js';
import { type LoadedWebhooks, loadWebhooks } from './load-webhooks.js';
import { WEBHOOKS_REACHED } from './statements.js';
import { type Accepted, decide, type Decision, evolve, type WebhookCommand } from './webhook.js';

const MAX_COMMANDS = 50;
/** Commands of one organization that may wait in this process: with the longest addresses and filters 2 MB. */
const MAX_WAITING = 200;
const LOOK_EVERY_MS = 10;
/** A dead projector is replaced within 5 s; a retry after this meets the new one. ms */
const PATIENCE = 4_000;
const TIME_LIMIT_MS = 2_500;

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
    private readonly pool: Pool,
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
  async execute(command: WebhookCommand, author: Author = {}): Promise<CommandResult> {
    const { result } = await this.store(command, author);
    return result;
  }

  /**
   * As `execute`, and waits until the delivery process can see it: it reads an endpoint before each delivery, so none
   * begins afterwards that follows from what was before.
   * @throws Unavailable also if the projector is not running, or too far behind; the change is stored then
   */
  async executeSeen(command: WebhookCommand, author: Author = {}): Promise<CommandResult> {
    const { result, revision } = await this.store(command, author);
    const giveUp = performance.now() + PATIENCE;
    while ((await this.reached(command.organization)) < revision) {
      if (performance.now() > giveUp)
        throw new Unavailable('The change is stored, but deliveries do not follow it yet; repeat the request');
      await pause(LOOK_EVERY_MS);
    }
    return result;
  }

  private async store(
    command: WebhookCommand,
    author: Author,
  ): Promise<{ readonly result: CommandResult; readonly revision: bigint }> {
    const { decision, revision } = await this.commands.execute(command, author);
    const { webhook, replayed = false } = decision as Accepted;
    return { result: { webhook, replayed }, revision };
  }

  private async reached(organization: string): Promise<bigint> {
    const [row] = await WEBHOOKS_REACHED.run(this.pool, { organization }, TIME_LIMIT_MS);
    return BigInt(row?.revision ?? -1);
  }
}

const keysOf = (commands: readonly WebhookCommand[]): string[] =>
  commands.flatMap((command) =>
    command.type === 'Create' && command.request ? [command.request.idempotencyKeyHash] : [],
  );
