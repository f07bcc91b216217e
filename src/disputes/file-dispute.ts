import { randomBytes } from 'node:crypto';
import { Command, CommandHandler, type ICommandHandler, QueryBus } from '@nestjs/cqrs';
import { Pool } from 'pg';
import { assetHash } from '../assets/asset-key.js';
import type { Asset } from '../assets/asset.js';
import { KEY_VERSION } from '../assets/keys.js';
import { parseContent } from '../assets/parse-content.js';
import { Unprocessable } from '../errors.js';
import { type AtPosition, CommandQueue } from '../event-log/command-queue.js';
import { EventLog } from '../event-log/event-log.js';
import { MAX_CONTENT } from '../events/declaring/fields.js';
import { isLongerThan } from '../events/declaring/text.js';
import { disputesStream } from '../events/streams.js';
import type { Origin } from '../http/access/origin.js';
import { idempotentRequest } from '../http/body/idempotency-key.js';
import { DailyQuota } from '../quotas/daily-quota.js';
import { Expiry } from '../read-models/expiry/expiry.js';
import { Checkpoints } from '../read-models/checkpoints/checkpoints.js';
import { GetVerdicts } from '../verdicts/get-verdicts.js';
import { decide, type Decision, type Dispute, evolve, type FileCommand } from './dispute.js';
import { type LoadedDisputes, loadDisputes } from './load-disputes.js';
import {
  CONTACTS_OF_RESOLVED,
  CONTACTS_WITHOUT_DISPUTE,
  REMOVE_DISPUTE_CONTACTS,
  STORE_DISPUTE_CONTACTS,
} from './statements.js';

const ID_BYTES = 12;
/** Maximum number of commands per append. With the longest contents and reasons, their events take 1 MB. */
const MAX_COMMANDS = 20;
/** Maximum number of waiting commands per organization in this process. These commands take at most 5 MB. */
const MAX_WAITING = 100;
/** How long the response waits for the read model, so that the dispute can be read after the response. */
const PROJECTION_TIMEOUT_MS = 2_000;

export interface FiledDispute {
  readonly dispute: Dispute;
  /** Whether this result repeats the first response to the same `Idempotency-Key`. */
  readonly replayed: boolean;
}

export class FileDispute extends Command<AtPosition<FiledDispute>> {
  constructor(
    readonly organization: string,
    readonly content: string,
    readonly reason: string | undefined,
    /** Stored outside of the log, so that it can be erased. */
    readonly contact: string | undefined,
    /** The `Idempotency-Key` as sent; undefined if the client did not send one. */
    readonly idempotencyKey: string | undefined,
    readonly origin: Origin = {},
    /** The verdict reflects at least this position of the log. */
    readonly minPosition?: number,
  ) {
    super();
  }
}

/** @throws Unprocessable if the content is not an asset that can be stored */
const readAsset = (content: string): Asset => {
  const { parsed } = { parsed: undefined, ...parseContent(content) };
  if (parsed === undefined) throw new Unprocessable('The content is not an asset that can be blocked');
  const asset = { type: parsed.type, content: parsed.name };
  if (isLongerThan(asset.content, MAX_CONTENT)) throw new Unprocessable('The normalised content is too long');
  return asset;
};

@CommandHandler(FileDispute)
export class FileDisputeHandler implements ICommandHandler<FileDispute> {
  private readonly commands: CommandQueue<FileCommand, LoadedDisputes, Decision>;

  constructor(
    log: EventLog,
    pool: Pool,
    quota: DailyQuota,
    private readonly queries: QueryBus,
    private readonly checkpoints: Checkpoints,
    expiry: Expiry,
  ) {
    expiry.register(CONTACTS_OF_RESOLVED, CONTACTS_WITHOUT_DISPUTE);
    const rules = {
      name: 'disputes',
      maxCommands: MAX_COMMANDS,
      maxWaiting: MAX_WAITING,
      stream: disputesStream,
      load: (organization: string, commands: readonly FileCommand[]) => loadDisputes(pool, log, organization, commands),
      decide: (disputes: LoadedDisputes, command: FileCommand, now: number) => decide(disputes, command, now),
      apply: (disputes: LoadedDisputes, { events }: Decision, { hash }: FileCommand) => {
        for (const { data } of events) evolve(disputes, data, hash);
      },
      metadata: ({ hash }: FileCommand) => ({ assetKey: { version: KEY_VERSION, hash } }),
      beside: {
        bytes: ({ contact = '' }: FileCommand) => Buffer.byteLength(contact),
        store: async (organization: string, commands: readonly FileCommand[]) => {
          const given = commands.flatMap(({ disputeId: dispute, contact }) =>
            contact === undefined ? [] : { dispute, contact },
          );
          await STORE_DISPUTE_CONTACTS.runEach(pool, given, { organization });
        },
        remove: async (organization: string, commands: readonly FileCommand[]) => {
          const disputes = commands.flatMap(({ disputeId, contact }) => (contact === undefined ? [] : disputeId));
          if (disputes.length > 0) await REMOVE_DISPUTE_CONTACTS.run(pool, { organization, disputes });
        },
      },
    };
    this.commands = new CommandQueue(log, rules, quota);
  }

  /**
   * @throws Unprocessable if the asset is not blocked, Conflict if the organization has an open dispute about it
   * @throws Invalid if the `Idempotency-Key` is malformed, Unprocessable if it was used with another body
   * @throws TooManyRequests if the organization's quota is used up, or too many of its requests are waiting
   * @throws Unavailable if the outcome is unknown or nothing was done
   */
  async execute(command: FileDispute): Promise<AtPosition<FiledDispute>> {
    const { organization, content, reason, contact, origin } = command;
    // The contact is not part of the hash: the hash stays in the log, and a contact could be guessed from it.
    const request = idempotentRequest(command.idempotencyKey, JSON.stringify([content, reason]));
    const parsed = readAsset(content);
    const [checked] = await this.queries.execute(new GetVerdicts([content], organization, command.minPosition));
    const { verdict, asset } = checked!;
    if (asset !== undefined && isLongerThan(asset.content, MAX_CONTENT))
      throw new Unprocessable('The normalised content is too long');
    const disputeId = `dp_${randomBytes(ID_BYTES).toString('hex')}`;
    const hash = assetHash(asset ?? parsed);
    const { decision, position } = await this.commands.execute(
      { organization, disputeId, asset, hash, content, verdict, reason, contact, request },
      origin,
    );
    const { dispute, replayed = false } = decision as Extract<Decision, { readonly dispute: Dispute }>;
    await this.checkpoints.reached(['records'], position, PROJECTION_TIMEOUT_MS);
    return { result: { dispute, replayed }, position };
  }
}
