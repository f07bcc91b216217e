import { Injectable, Logger } from '@nestjs/common';
import { Pool } from 'pg';
import { randomBytes } from 'node:crypto';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { commandOf } from '../http/requests.js';
import { Unavailable, Invalid } from '../errors.js';
import type { Webhook } from '../events/types/organizations.js';
import { Config, ConfigError } from '../runtime/config.js';
import { type MasterKeys, openMasterKeys, secretText, signingKey } from './secrets.js';
import { BEGINNING, EventLog } from '../event-log/event-log.js';
import { readDate } from '../http/parameters.js';
import { InitialBackfill } from '../records/record-queries.js';
import { FEED_END, FEED_POSITION_AT } from './load-webhooks.js';
import type { StartPosition, Settings } from './webhook.js';
import type { AtPosition } from '../event-log/command-queue.js';
import type { Origin } from '../http/access/caller.js';
import { idempotentRequest } from '../http/body/validation.js';
import { WebhookCommands, AppliedWebhookCommands } from './webhook-commands.js';
import { viewOf } from './list-webhooks.js';
import type { WebhookDto, RotatedSecretDto } from './webhooks.dto.js';
import { formatInstant } from '../events/instant.js';

const RETRY_AFTER_SECONDS = 60;

/**
 * Derives the secrets of webhook endpoints. A secret is shown only in the response to the request that created or
 * rotated it.
 */
@Injectable()
export class Secrets {
  private readonly logger = new Logger('webhooks');
  private readonly keys: MasterKeys | undefined;

  /** @throws ConfigError if the file of the master keys cannot be used */
  constructor(config: Config) {
    this.keys = openMasterKeys(config);
  }

  /**
   * Returns the id of the master key for new secrets.
   * @throws Unavailable if this installation has no master key
   */
  newestKey(): string {
    return this.useKeys((keys) => keys.newest().id);
  }

  /** Returns the current secret of an endpoint. @throws Unavailable if the master key of the secret is missing */
  secretOf({ webhookId, generation, masterKey }: Webhook): string {
    return this.useKeys((keys) => {
      const key = keys.find(masterKey);
      if (key === undefined) throw new ConfigError(`WEBHOOK_MASTER_KEY_FILE has no key ${masterKey}`);
      return secretText(signingKey(key, { webhookId, generation }));
    });
  }

  private useKeys<T>(work: (keys: MasterKeys) => T): T {
    try {
      if (this.keys === undefined) throw new ConfigError('WEBHOOK_MASTER_KEY_FILE is not set');
      return work(this.keys);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      this.logger.warn(`Cannot derive the secrets of webhooks: ${error.message}`);
      throw new Unavailable(
        'Webhooks are not configured: the operator must set WEBHOOK_MASTER_KEY_FILE to a file with the master keys',
        RETRY_AFTER_SECONDS,
      );
    }
  }
}

/** Finds the position in the log after which the deliveries to an endpoint start. */
@Injectable()
export class StartPositions {
  constructor(
    private readonly pool: Pool,
    private readonly log: EventLog,
    private readonly backfill: InitialBackfill,
  ) {}

  /**
   * @param from `beginning`, an ISO time, or absent: the feed's current end
   * @throws Invalid if `from` is invalid or in the future
   * @throws Unavailable if the log or the database is unavailable, or the feed has not been built yet
   */
  async find(organization: string, from: string | undefined): Promise<StartPosition> {
    if (from === 'beginning') return this.beginning();
    const instant = from === undefined ? undefined : readDate('from', from).from;
    await this.backfill.requireComplete();
    if (instant === undefined) {
      const [end] = await FEED_END.run(this.pool, {});
      return end === undefined ? this.beginning() : { startAfter: end.position, startLog: end.log };
    }
    const [found] = await FEED_POSITION_AT.run(this.pool, { organization, instant });
    if (found !== undefined && instant > found.latest) throw new Invalid('from must not be in the future');
    return found === undefined ? this.beginning() : { startAfter: found.position, startLog: found.log };
  }

  private async beginning(): Promise<StartPosition> {
    return { startAfter: Number(BEGINNING), startLog: await this.log.id() };
  }
}

interface CreatedWebhook {
  readonly webhook: WebhookDto;
  /** Absent if this result repeats the first response to the same `Idempotency-Key`. */
  readonly secret: string | undefined;
}

interface NewWebhook {
  readonly organization: string;
  readonly settings: Settings;
  /** The `from` of the request; absent for the current end of the feed. */
  readonly from: string | undefined;
  /** The `Idempotency-Key` of the request, if there is one. */
  readonly idempotencyKey: string | undefined;
  readonly origin: Origin;
}

export class CreateWebhook extends commandOf<AtPosition<CreatedWebhook>, NewWebhook>() {}

/** The endpoint that a command changes, and who changes it. */
interface Target {
  readonly organization: string;
  readonly webhookId: string;
  readonly origin: Origin;
}

interface WebhookChange extends Target {
  /** Absent settings keep their value. */
  readonly settings: Partial<Settings>;
  readonly state: 'ACTIVE' | 'DISABLED' | undefined;
}

const ID_BYTES = 12;
/** The content that two requests with the same `Idempotency-Key` must have in common. */
const contentOf = ({ settings, from }: CreateWebhook): string => {
  const { url, types, assetTypes, statuses, batch, description } = settings;
  return JSON.stringify([url, types, assetTypes, statuses, batch, description, from]);
};

@CommandHandler(CreateWebhook)
export class CreateWebhookHandler implements ICommandHandler<CreateWebhook> {
  constructor(
    private readonly webhooks: WebhookCommands,
    private readonly secrets: Secrets,
    private readonly positions: StartPositions,
  ) {}

  /** @throws Invalid, Conflict, Unprocessable, TooManyRequests or Unavailable */
  async execute(command: CreateWebhook): Promise<AtPosition<CreatedWebhook>> {
    const { organization, settings, from, origin } = command;
    const request = idempotentRequest(command.idempotencyKey, contentOf(command));
    const masterKey = this.secrets.newestKey();
    const start = await this.positions.find(organization, from);
    const webhookId = `wh_${randomBytes(ID_BYTES).toString('hex')}`;
    const { result, position } = await this.webhooks.execute(
      { type: 'Create', organization, webhookId, settings, start, masterKey, request },
      origin,
    );
    const { webhook, replayed } = result;
    if (!replayed)
      return {
        result: { webhook: viewOf(webhook, webhook.createdAt), secret: this.secrets.secretOf(webhook) },
        position,
      };
    // Repeat the first response, even if the webhook has been changed since then.
    const first = { ...webhook, ...settings, state: 'ACTIVE', updatedAt: webhook.createdAt } as const;
    const view = viewOf({ ...first, disabledReason: undefined, previousUntil: undefined }, webhook.createdAt);
    return { result: { webhook: view, secret: undefined }, position };
  }
}

/** Changes an endpoint. Deliveries that start after the response use the new settings. */
export class ChangeWebhook extends commandOf<AtPosition<Webhook>, WebhookChange>() {}

@CommandHandler(ChangeWebhook)
export class ChangeWebhookHandler implements ICommandHandler<ChangeWebhook> {
  constructor(private readonly changes: AppliedWebhookCommands) {}

  async execute({ organization, webhookId, settings, state, origin }: ChangeWebhook): Promise<AtPosition<Webhook>> {
    const command = { type: 'Change', organization, webhookId, settings, state } as const;
    const { result, position } = await this.changes.execute(command, origin);
    return { result: result.webhook, position };
  }
}

/** Deletes an endpoint. No delivery starts after the response. */
export class DeleteWebhook extends commandOf<AtPosition<void>, Target>() {}

@CommandHandler(DeleteWebhook)
export class DeleteWebhookHandler implements ICommandHandler<DeleteWebhook> {
  constructor(private readonly changes: AppliedWebhookCommands) {}

  async execute({ organization, webhookId, origin }: DeleteWebhook): Promise<AtPosition<void>> {
    const { position } = await this.changes.execute({ type: 'Delete', organization, webhookId }, origin);
    return { result: undefined, position };
  }
}

/**
 * Creates a new secret for an endpoint. Deliveries that are signed after the response use it, and no ended secret.
 * With `force`, rotates even if two secrets are in use; the older of the two stops signing.
 */
export class RotateSecret extends commandOf<AtPosition<RotatedSecretDto>, Target & { readonly force: boolean }>() {}

@CommandHandler(RotateSecret)
export class RotateSecretHandler implements ICommandHandler<RotateSecret> {
  constructor(
    private readonly changes: AppliedWebhookCommands,
    private readonly secrets: Secrets,
  ) {}

  async execute({ organization, webhookId, force, origin }: RotateSecret): Promise<AtPosition<RotatedSecretDto>> {
    const masterKey = this.secrets.newestKey();
    const rotate = { type: 'Rotate', organization, webhookId, masterKey, force } as const;
    const {
      result: { webhook },
      position,
    } = await this.changes.execute(rotate, origin);
    const previousSecretUntil = formatInstant(webhook.previousUntil!);
    return { result: { id: webhookId, secret: this.secrets.secretOf(webhook), previousSecretUntil }, position };
  }
}

/** Moves the cursor of an endpoint to `from`: `beginning`, or an ISO time. */
export class ReplayWebhook extends commandOf<AtPosition<Webhook>, Target & { readonly from: string }>() {}

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
