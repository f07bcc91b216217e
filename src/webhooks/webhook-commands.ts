import { Injectable, Optional } from '@nestjs/common';
import { Pool } from 'pg';
import { Unavailable } from '../errors.js';
import { type AtPosition, CommandQueue, declareWaiting } from '../event-log/command-queue.js';
import { EventLog } from '../event-log/event-log.js';
import { webhooksStream } from '../events/streams.js';
import type { Webhook } from '../events/types/organizations.js';
import type { Origin } from '../http/access/caller.js';
import { Checkpoints } from '../read-models/checkpoints.js';
import { DailyQuota } from '../quotas/daily-quota.js';
import { type LoadedWebhooks, loadWebhooks } from './load-webhooks.js';
import { type Accepted, decide, type Decision, evolve, MAX_ENDPOINT_AGE_MS, type WebhookCommand } from './webhook.js';
import { limit } from '../limits.js';
import { pause } from '../flow/time.js';

const MAX_COMMANDS = 50;
/**
 * Maximum number of waiting commands per organization in this process. With the longest URLs and filters, these
 * commands take 2 MB.
 */
const MAX_WAITING = declareWaiting('waiting changes of webhooks', 200);
/**
 * A failed projector is replaced within 5 s, so a client that retries the request after this timeout finds a running
 * projector.
 */
const PROJECTION_TIMEOUT_MS = limit('wait for the read model of webhooks', 4_000, 'ms', 'request', '503');

/** How long a delivery may take from the check of an endpoint's age to the signature, which follow each other directly. */
const SIGNING_MS = 100;

/** The result of a command. */
interface CommandResult {
  /** The webhook after the command. */
  readonly webhook: Webhook;
  /** Whether this result repeats the first response to the same `Idempotency-Key`. */
  readonly replayed: boolean;
}

/** Who makes a change, as stored in the metadata of the events. */
type Author = Origin | { readonly operator: string | undefined } | { readonly process: 'webhooks' };

/** Whether a command only ends what is sent to an endpoint, or what a leaked secret can sign. */
const isUrgent = (command: WebhookCommand): boolean =>
  command.type === 'Delete' ||
  (command.type === 'Rotate' && command.force) ||
  (command.type === 'Change' && command.state === 'DISABLED' && Object.keys(command.settings).length === 0);

/** Executes the commands about endpoints. */
@Injectable()
export class WebhookCommands {
  private readonly commands: CommandQueue<WebhookCommand, LoadedWebhooks, Decision>;

  constructor(
    log: EventLog,
    pool: Pool,
    /** Absent in processes whose changes are not charged to a quota: the delivery process and the CLI. */
    @Optional() quota?: DailyQuota,
  ) {
    const rules = {
      name: 'webhooks',
      maxCommands: MAX_COMMANDS,
      maxWaiting: MAX_WAITING,
      stream: webhooksStream,
      load: (organization: string, commands: readonly WebhookCommand[]) =>
        loadWebhooks(pool, log, organization, keysOf(commands)),
      isUrgent,
      decide: (webhooks: LoadedWebhooks, command: WebhookCommand, now: number) => decide(webhooks, command, now),
      apply: (webhooks: LoadedWebhooks, { events }: Decision) => {
        for (const event of events) evolve(webhooks, event);
      },
    };
    this.commands = new CommandQueue(log, rules, quota);
  }

  /**
   * @throws Conflict, NotFound or Unprocessable if the command is rejected
   * @throws TooManyRequests if the organization's daily quota is used up, or too many of its commands are waiting
   * @throws Unavailable if the outcome is unknown or nothing was done
   */
  async execute(command: WebhookCommand, author: Author = {}): Promise<AtPosition<CommandResult>> {
    const { decision, position } = await this.commands.execute(command, author);
    const { webhook, replayed = false } = decision as Accepted;
    return { result: { webhook, replayed }, position };
  }
}

/** Executes commands that must take effect in the delivery process before the response is sent. */
@Injectable()
export class AppliedWebhookCommands {
  constructor(
    private readonly commands: WebhookCommands,
    private readonly checkpoints: Checkpoints,
    private readonly log: EventLog,
  ) {}

  /**
   * Executes a command, and waits until the read model includes it and every delivery process has stopped using an
   * endpoint that it read before. Every delivery that is signed after this call uses the new settings and secrets.
   * @throws the errors of `WebhookCommands.execute`; also Unavailable if the projector is not running or too far behind. The
   *   change is stored then; a rotation only if the projector fell behind during the call
   */
  async execute(command: WebhookCommand, origin: Origin): Promise<AtPosition<CommandResult>> {
    // Nobody would see a secret that is stored now, and the next rotation would end the one that the receiver knows.
    if (command.type === 'Rotate' && !(await this.hasReached(await this.log.head())))
      throw new Unavailable('The secret was not rotated, because the projector is not running or too far behind');
    const executed = await this.commands.execute(command, origin);
    if (!(await this.hasReached(executed.position)))
      throw new Unavailable(
        command.type === 'Rotate'
          ? 'The secret was rotated, but deliveries do not use the new secret yet, so it is not shown; once the projector ' +
              'has caught up, rotate again with { "force": true }'
          : 'The change is stored, but has not taken effect yet; it takes effect once the projector has caught up',
      );
    await pause(MAX_ENDPOINT_AGE_MS + SIGNING_MS);
    return executed;
  }

  private hasReached(position: bigint): Promise<boolean> {
    return this.checkpoints.reached(['webhooks'], position, PROJECTION_TIMEOUT_MS);
  }
}

const keysOf = (commands: readonly WebhookCommand[]): string[] =>
  commands.flatMap((command) =>
    command.type === 'Create' && command.request ? [command.request.idempotencyKeyHash] : [],
  );
