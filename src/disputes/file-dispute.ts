import { Pool } from 'pg';
import { randomBytes } from 'node:crypto';
import { Command, CommandHandler, type ICommandHandler, QueryBus } from '@nestjs/cqrs';
import { CLOCK, json, nullable, statement } from '../postgres/statement.js';
import { MS_PER_DAY, MS_PER_HOUR } from '../events/instant.js';
import { expiringRows, Expiry } from '../read-models/expiry.js';
import { type Loaded, type AtPosition, CommandQueue, declareWaiting } from '../event-log/command-queue.js';
import { EventLog } from '../event-log/event-log.js';
import { readTail } from '../event-log/read-streams.js';
import { parseEvent } from '../events/event.js';
import { hashOf } from '../events/stored-key.js';
import { disputesStream, disputeStream } from '../events/streams.js';
import { type Disputes, type FileCommand, evolve, decide, type Decision, type Dispute } from './dispute.js';
import { assetHash, assetOf } from '../assets/asset-key.js';
import { type Asset, KEY_VERSION } from '../assets/asset.js';
import { parseContent } from '../assets/parse-content.js';
import { Unprocessable } from '../errors.js';
import { MAX_CONTENT, isLongerThan } from '../events/declaring/fields.js';
import type { Origin } from '../http/access/caller.js';
import { idempotentRequest } from '../http/body/validation.js';
import { DailyQuota } from '../quotas/daily-quota.js';
import { Checkpoints } from '../read-models/checkpoints.js';
import { GetVerdicts } from '../verdicts.js';
import { TIME_LIMIT_MS } from '../read-models/request-concurrency.js';
import { limit } from '../limits.js';

/**
 * Reads the open disputes of an organization about these assets, and the disputes that were filed by requests with these
 * keys. If there are no such disputes, the result is one row without a dispute.
 */
export const KNOWN_DISPUTES = statement(
  'disputes-known',
  { organization: 'text', assets: 'uuid[]', keyHashes: 'text[]' },
  {
    now: 'bigint',
    /** The revision of the organization's stream that the read model has reached. */
    reached: nullable('bigint'),
    /** The number of all open disputes of the organization. */
    openCount: 'bigint',
    asset: nullable('uuid'),
    isOpen: nullable('boolean'),
    /** The data of `DisputeFiled`. */
    filed: nullable(json<object>()),
  },
  `
    select ${CLOCK} as now, (select max(revision) from read.disputes where organization = :organization) as reached,
      (
        select count(*) from read.disputes
        where organization = :organization and created_at is not null and resolved_at is null
      ) as "openCount",
      d.asset, d.resolved_at is null as "isOpen", d.filed::json -> 'data' as filed
    from (select) one left join lateral (
      select id, asset, resolved_at, filed from read.disputes
      where organization = :organization and asset = any(:assets) and created_at is not null and resolved_at is null
      union
      select id, asset, resolved_at, filed from read.disputes
      where organization = :organization and request_key_hash = any(:keyHashes)
    ) d on true`,
);

/** How long the contact of a dispute is kept after the resolution. */
const CONTACT_KEPT_DAYS = limit('contact of a dispute after the resolution', 90, 'days', 'value', 'erased');

export const STORE_DISPUTE_CONTACTS = statement(
  'dispute-contacts-store',
  { organization: 'text', dispute: 'text[]', contact: 'text[]' },
  `
    insert into service.dispute_contacts (organization, dispute, contact, stored_at)
    select :organization, i.*, ${CLOCK} from unnest(:dispute, :contact) i (dispute, contact) on conflict do nothing`,
);

/** Removes the contacts of disputes that were not filed. */
export const REMOVE_DISPUTE_CONTACTS = statement(
  'dispute-contacts-remove',
  { organization: 'text', disputes: 'text[]' },
  'delete from service.dispute_contacts where organization = :organization and dispute = any(:disputes)',
);

const CONTACTS = {
  table: 'service.dispute_contacts',
  join: `left join lateral (
    select d.created_at, d.resolved_at from read.disputes d where d.organization = t.organization and d.id = t.dispute limit 1
  ) d on true`,
  walk: { organization: ['text', ''], dispute: ['text', ''] },
} as const;

/** The contacts of disputes that were resolved long ago. */
export const CONTACTS_OF_RESOLVED = expiringRows({
  ...CONTACTS,
  name: 'contacts of resolved disputes',
  where: `d.resolved_at <= (select ${CLOCK}) - ${CONTACT_KEPT_DAYS * MS_PER_DAY}`,
});

/**
 * The contacts without a dispute, which a process that ended between two statements has left. A contact is stored before
 * its dispute, so a dispute is missing only if the read model includes everything from an hour after the contact was
 * stored.
 */
export const CONTACTS_WITHOUT_DISPUTE = expiringRows({
  ...CONTACTS,
  name: 'contacts without a dispute',
  where: `d.created_at is null
    and t.stored_at < (select as_of from read.checkpoints where projection = 'register') - ${MS_PER_HOUR}`,
});

interface LoadedDisputes extends Disputes, Loaded {}

/** With the longest contents and reasons, this many events take about 15 MB. */
const MAX_TAIL = limit('events of disputes that the read model lacks', 1_000, 'events', 'organization', '503');

/**
 * Loads what these commands need, including what other instances have filed: the read model, plus the events in the
 * stream that the read model does not include yet. An open dispute about the asset of a command is closed if its own
 * stream has a resolution that the read model does not include yet.
 * @throws Unavailable if the read model is too far behind
 */
export const loadDisputes = async (
  pool: Pool,
  log: EventLog,
  organization: string,
  commands: readonly FileCommand[],
): Promise<LoadedDisputes> => {
  const assets = [...new Set(commands.map(({ hash }) => hash))];
  const keyHashes = commands.flatMap(({ request }) => request?.idempotencyKeyHash ?? []);
  const rows = await KNOWN_DISPUTES.run(pool, { organization, assets, keyHashes }, TIME_LIMIT_MS);
  const { now, reached, openCount } = rows[0]!;
  const disputes: Disputes = { open: new Map(), openCount, byRequest: new Map() };
  for (const { asset, isOpen, filed } of rows) {
    const dispute = filed === null ? undefined : parseEvent('DisputeFiled', filed).event?.data;
    if (dispute === undefined) continue;
    if (isOpen) disputes.open.set(asset!.replaceAll('-', ''), dispute);
    const { idempotencyKeyHash: key } = dispute;
    // A key may be used again after a day; the newest use counts.
    if (key !== undefined && (disputes.byRequest.get(key)?.createdAt ?? -1) <= dispute.createdAt)
      disputes.byRequest.set(key, dispute);
  }
  const tail = {
    stream: disputesStream(organization),
    types: ['DisputeFiled'] as const,
    after: BigInt(reached ?? -1),
    maxEvents: MAX_TAIL,
    name: 'disputes',
  };
  const revision = await readTail(log, tail, (event, { metadata, copyOf }) => {
    evolve(disputes, event.data, hashOf({ event, metadata }), copyOf !== undefined);
  });
  for (const hash of assets) {
    const { disputeId } = disputes.open.get(hash) ?? {};
    if (disputeId === undefined) continue;
    const resolutions = {
      stream: disputeStream(organization, disputeId),
      types: ['DisputeResolved'] as const,
      after: -1n,
      maxEvents: MAX_TAIL,
      name: 'disputes',
    };
    await readTail(log, resolutions, () => disputes.open.delete(hash));
  }
  return { ...disputes, revision, now };
};

const ID_BYTES = 12;
/** Maximum number of commands per append. With the longest contents and reasons, their events take 1 MB. */
const MAX_COMMANDS = 20;
/** Maximum number of waiting commands per organization in this process. These commands take at most 5 MB. */
const MAX_WAITING = declareWaiting('waiting disputes', 100);
/** How long the response waits for the read model, so that the dispute can be read after the response. */
const PROJECTION_TIMEOUT_MS = limit('wait for the read model of disputes', 2_000, 'ms', 'request', '201');

interface FiledDispute {
  readonly dispute: Dispute;
  /** Whether this result repeats the first response to the same `Idempotency-Key`. */
  readonly replayed: boolean;
}

interface NewDispute {
  readonly organization: string;
  readonly content: string;
  readonly reason: string | undefined;
  /** Stored outside of the log, so that it can be erased. */
  readonly contact: string | undefined;
  /** The `Idempotency-Key` as sent; undefined if the client did not send one. */
  readonly idempotencyKey: string | undefined;
  readonly origin: Origin;
  /** The verdict reflects at least this position of the log. */
  readonly minPosition: number | undefined;
}

export class FileDispute extends Command<AtPosition<FiledDispute>> {
  constructor(readonly dispute: NewDispute) {
    super();
  }
}

/** @throws Unprocessable if the content is not an asset that can be stored */
const readAsset = (content: string): Asset => {
  const { parsed } = parseContent(content);
  if (parsed === undefined) throw new Unprocessable('The content is not an asset that can be blocked');
  const asset = assetOf(content, parsed);
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
  async execute({ dispute: filed }: FileDispute): Promise<AtPosition<FiledDispute>> {
    const { organization, content, reason, contact, origin } = filed;
    // The contact is not part of the hash: the hash stays in the log, and a contact could be guessed from it.
    const request = idempotentRequest(filed.idempotencyKey, JSON.stringify([content, reason]));
    const parsed = readAsset(content);
    const [checked] = await this.queries.execute(new GetVerdicts([content], organization, filed.minPosition));
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
    await this.checkpoints.reached(['register'], position, PROJECTION_TIMEOUT_MS);
    return { result: { dispute, replayed }, position };
  }
}
