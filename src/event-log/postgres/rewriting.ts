import type { Pool, PoolClient } from 'pg';
import { inTransaction } from '../../postgres/transaction.js';
import { LATEST } from '../../events/instant.js';
import { pause } from '../../flow/time.js';
import {
  API_KEYS_STREAM,
  ERASED_CATEGORY,
  ERASED_TYPE,
  OPERATIONS_STREAM,
  ORGANIZATION_CATEGORIES,
} from '../../events/streams.js';
import { CLOCK, json, statement, nullable } from '../../postgres/statement.js';
import { hasReviewOf, withoutReviewsOf } from '../../postgres/reviews.js';
import { REDACTED } from '../../events/redacted.js';

/** Positions per transaction. A transaction takes tens of milliseconds, and no append waits for it. */
const POSITIONS_PER_BATCH = 1_000;

/**
 * Processes the log in PostgreSQL in small transactions, to search it or to rewrite events in place. A pause after each
 * transaction leaves half of the time to the requests.
 * @param from the first position
 * @param to the position after the last one
 * @param process processes the events from a position to another, without the latter; what it rewrites, it also records
 *   in this transaction, so that a call that was killed can continue
 */
export const forEachBatch = async (
  pool: Pool,
  { from, to }: { readonly from: number; readonly to: number },
  process: (connection: PoolClient, from: number, to: number) => Promise<void>,
  onProgress: (position: number) => void = () => {},
): Promise<void> => {
  for (let position = from; position < to;) {
    const next = Math.min(position + POSITIONS_PER_BATCH, to);
    const startedAt = performance.now();
    await inTransaction(pool, (connection) => process(connection, position, next));
    await pause(performance.now() - startedAt);
    position = next;
    onProgress(position);
  }
};

/** The advisory lock under which `log.append` assigns positions (`schema.ts`). */
export const APPEND_LOCK = 20_261_121n;

const CATEGORY_LIST = ORGANIZATION_CATEGORIES.map((category) => `'${category}'`).join(', ');

/** The organization of a stream, as an SQL expression; null for streams that several organizations share. */
const organizationSql = (stream: string): string =>
  `case when split_part(${stream}, '-', 1) in (${CATEGORY_LIST})
    then split_part(substr(${stream}, strpos(${stream}, '-') + 1), ':', 1) end`;

/**
 * The part of an event that belongs to the organization: its stream, a key event, or reviews. Null: nothing. The
 * keys of the organization are known by their digests, because the event that names the organization may have been
 * erased.
 */
const PART = `
  case
    when ${organizationSql('e.stream')} = :organization then 'stream'
    when e.stream = '${API_KEYS_STREAM}' and (
      e.type = 'ApiKeyIssued' and e.data ->> 'organization' = :organization
      or e.type = 'ApiKeyRevoked' and log.is_erased(e.data ->> 'keyId')
    ) then 'key'
    when e.type = 'AssetStatusChanged' and ${hasReviewOf('e.data', ':organization')} then 'review'
  end`;

/** The keys and webhook endpoints of an organization. */
export const NAMES_OF_ORGANIZATION = statement(
  'erasure-names',
  { organization: 'text' },
  { name: 'text' },
  `
    select data ->> 'keyId' as name from log.events
    where stream = '${API_KEYS_STREAM}' and type = 'ApiKeyIssued' and data ->> 'organization' = :organization
    union all
    select data ->> 'webhookId' from log.events where stream = 'webhooks-' || :organization and type = 'WebhookCreated'`,
);

/** Makes the log refuse events of organizations with these digests. */
export const REFUSE_ERASED = statement(
  'erasure-refuse',
  { digests: 'text[]', logId: 'text' },
  `insert into log.erased (digest, log_id) select unnest(:digests), :logId on conflict do nothing`,
);

/** Counts the events of an organization at the positions from `from` to `to`, without `to`, by type. */
export const COUNT_EVENTS = statement(
  'erasure-count-events',
  { organization: 'text', from: 'bigint', to: 'bigint' },
  { type: 'text', events: 'bigint' },
  `
    select e.type, count(*) as events from log.events e
    where e.position >= :from and e.position < :to and ${PART} is not null group by e.type`,
);

/**
 * Rewrites the events of an organization at the positions from `from` to `to`, without `to`, and counts them by their
 * earlier type. Position, event id and time of recording are kept. In streams that several organizations share, an event
 * keeps its place, so that the revisions of the stream have no gaps.
 */
export const REWRITE_EVENTS = statement(
  'erasure-rewrite-events',
  { organization: 'text', from: 'bigint', to: 'bigint' },
  { type: 'text', events: 'bigint', first: 'bigint', last: 'bigint' },
  `
    with found as materialized (
      select e.position, e.type, ${PART} as part from log.events e where e.position >= :from and e.position < :to
    ), rewritten as (
      update log.events e set
        stream = case when f.part = 'stream' then '${ERASED_CATEGORY}-' || e.position else e.stream end,
        revision = case when f.part = 'stream' then 0 else e.revision end,
        type = case when f.part = 'review' then e.type else '${ERASED_TYPE}' end,
        data = case when f.part = 'review' then ${withoutReviewsOf('e.data', ':organization')} else '{}' end,
        metadata = case when f.part = 'review' then e.metadata else '{}' end
      from found f where f.position = e.position and f.part is not null
      returning e.position, f.type
    )
    select type, count(*) as events, min(position) as first, max(position) as last from rewritten group by type`,
);

/** The number of events in the stream of the operators. */
export const OPERATIONS_LENGTH = statement(
  'erasure-operations-length',
  {},
  { length: 'bigint' },
  `select coalesce(max(revision) + 1, 0) as length from log.events where stream = '${OPERATIONS_STREAM}'`,
);

/**
 * Erases the reasons for which parked events of the organization were dropped, which operators write, and the streams of
 * those that were retried, from one revision to another.
 */
export const REWRITE_REASONS = statement(
  'erasure-rewrite-reasons',
  { from: 'bigint', to: 'bigint' },
  { position: 'bigint' },
  `
    update log.events e
    set data = jsonb_set(e.data::jsonb, array[case e.type when 'ParkedEventDropped' then 'reason' else 'stream' end],
      '"[erased]"')::json
    where e.stream = '${OPERATIONS_STREAM}' and e.revision >= :from and e.revision < :to
      and (e.type = 'ParkedEventDropped' and e.data ->> 'reason' <> '[erased]'
        or e.type = 'ParkedEventRetried' and e.data ->> 'stream' <> '[erased]')
      and exists (
        select from log.events x where x.event_id = (e.data ->> 'eventId')::uuid and x.type = '${ERASED_TYPE}'
      )
    returning e.position`,
);

/** The certificate of a complete erasure. */
export const READ_CERTIFICATE = statement(
  'erasure-read-certificate',
  { digest: 'text' },
  { data: json<object>() },
  `
    select data from log.events
    where stream = '${OPERATIONS_STREAM}' and type = 'OrganizationErased' and data ->> 'digest' = :digest limit 1`,
);

type Fields = Readonly<Record<string, unknown>>;

const EVENT = {
  position: 'bigint',
  eventId: 'uuid',
  stream: 'text',
  type: 'text',
  data: json<Fields>(),
  metadata: json<Fields>(),
} as const;
const COLUMNS = 'e.position, e.event_id as "eventId", e.stream, e.type, e.data, e.metadata';

/** Whether an event has a content that has not been redacted. */
const HAS_CONTENT = `e.data #>> '{asset,content}' <> '${REDACTED}'`;

/** What `String.prototype.trim` removes. */
const BLANKS =
  '\t\n\v\f\r \u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000\uFEFF';
/** Whether the content of an event, or of the dispute that it files, is the text. */
const hasText = (data: string): string =>
  `(btrim(${data} #>> '{asset,content}', '${BLANKS}') = :text or btrim(${data} ->> 'content', '${BLANKS}') = :text)`;

/** Whether a dispute `d` is about an asset with one of the hashes or with the text. */
const IS_DISPUTED = `(d.asset = any(:hashes::uuid[]) or ${hasText(`(d.filed::json -> 'data')`)})`;

/**
 * The events at the positions from `from` to `to`, without `to`, that may be about an asset: the event was stored with
 * one of the hashes, with the text, or without a hash of the version `keyVersion` of the key. Also finds resolutions of
 * disputes about the asset, with the hash of the disputed asset.
 */
export const FIND_ABOUT = statement(
  'redaction-find-about',
  { hashes: 'text[]', text: 'text', from: 'bigint', to: 'bigint', keyVersion: 'text' },
  { ...EVENT, disputedHash: nullable('text') },
  `
    select ${COLUMNS}, replace(d.asset::text, '-', '') as "disputedHash"
    from log.events e left join read.disputes d
      on e.type = 'DisputeResolved' and d.organization = e.data ->> 'organization' and d.id = e.data ->> 'disputeId'
      and ${IS_DISPUTED}
    where e.position >= :from and e.position < :to and (
      ${HAS_CONTENT} and (
        e.metadata #>> '{assetKey,version}' is distinct from :keyVersion
        or e.metadata #>> '{assetKey,hash}' = any(:hashes)
        or ${hasText('e.data')}
      )
      or d.id is not null and e.data ->> 'note' <> '${REDACTED}'
    )
    order by e.position`,
);

/**
 * What the read models know of the record of an event `e` with a type and data: its newest version and the event of
 * that, if it is lower than a version, of threats and takedowns, and of entries of the status history that are not in
 * force and will not be: they have expired, or a newer entry lasts as long; and of deleted entries, whatever their
 * version. Each subquery reads at most one row by its key: `limit 1` keeps
 * the planner from reading whole tables.
 */
const joinOutdated = (version: string): string => `
    cross join lateral (
      (
        select r.version, r.event_id, false as is_deleted from read.records r
        where e.type in ('ThreatStatusChanged', 'TakedownFiled', 'TakedownStatusChanged')
          and r.organization = e.data ->> 'organization'
          and r.kind = case e.type when 'ThreatStatusChanged' then 'threat' else 'takedown' end
          and r.id = coalesce(e.data ->> 'threatId', e.data ->> 'takedownId')
          and r.version < ${version}
        limit 1
      )
      union all
      (
        select s.version, s.event_id, s.status is null from read.asset_status_entries s
        where e.type in ('AssetStatusChanged', 'AssetStatusChangeDeleted')
          and s.change_id = e.data ->> 'changeId'
          and (s.status is null or s.version < ${version})
          and (
            s.status is null or s.asset_hash = '' or s.expires_at <= ${CLOCK} or exists (
              select from read.asset_status_entries n
              where n.asset_hash = s.asset_hash and n.status is not null
                and (n.version, n.event_id) > (s.version, s.event_id)
                and coalesce(n.expires_at, ${LATEST + 1}) >= coalesce(s.expires_at, ${LATEST + 1})
            )
          )
        limit 1
      )
    ) newest`;

/** A row of another version's projection does not count: that version has no call that retries or drops it here. */
const IS_NOT_PARKED = `not exists (
      select from read.parked_events p where p.event_id = e.event_id and p.projection = any(:projections)
    )`;

/**
 * The events at the positions from `from` to `to`, without `to`, with the contents of threats and takedowns whose newest
 * version is lower than `version`, and of entries of the status history that are not in force and either have such a
 * version or are deleted.
 */
export const FIND_EXPIRED = statement(
  'redaction-find-expired',
  { from: 'bigint', to: 'bigint', version: 'bigint', projections: 'text[]' },
  { ...EVENT, version: 'bigint', newestId: 'uuid', isDeletedEntry: 'boolean' },
  `
    select ${COLUMNS}, newest.version, newest.event_id as "newestId", newest.is_deleted as "isDeletedEntry"
    from log.events e ${joinOutdated(':version')}
    where e.position >= :from and e.position < :to and ${HAS_CONTENT} and ${IS_NOT_PARKED}
    order by e.position`,
);

/** Those of these events that `FIND_EXPIRED` would find, for events in another store. */
export const EXPIRED_AMONG = statement(
  'redaction-expired-among',
  { eventId: 'uuid[]', type: 'text[]', data: 'json[]', version: 'bigint', projections: 'text[]' },
  { eventId: 'uuid', version: 'bigint', newestId: 'uuid', isDeletedEntry: 'boolean' },
  `
    select e.event_id as "eventId", newest.version, newest.event_id as "newestId", newest.is_deleted as "isDeletedEntry"
    from unnest(:eventId, :type, :data) e (event_id, type, data) ${joinOutdated(':version')}
    where ${IS_NOT_PARKED}`,
);

/** Those of these resolutions whose dispute is about an asset, as `FIND_ABOUT` finds it. */
export const DISPUTED_AMONG = statement(
  'redaction-disputed-among',
  { eventId: 'uuid[]', organization: 'text[]', disputeId: 'text[]', hashes: 'text[]', text: 'text' },
  { eventId: 'uuid', disputedHash: 'text' },
  `
    select i.event_id as "eventId", replace(d.asset::text, '-', '') as "disputedHash"
    from unnest(:eventId, :organization, :disputeId) i (event_id, organization, id)
    join read.disputes d on d.organization = i.organization and d.id = i.id and ${IS_DISPUTED}`,
);

/** Those of these projections that have parked one of these events. */
export const PARKED_AMONG = statement(
  'redaction-parked',
  { eventIds: 'uuid[]', projections: 'text[]' },
  { eventId: 'uuid', projection: 'text' },
  `
    select event_id as "eventId", projection from read.parked_events
    where event_id = any(:eventIds) and projection = any(:projections) order by position, projection`,
);

/** Reads events to rewrite, and locks them, so that no other rewriting changes them meanwhile. */
export const LOCK_EVENTS = statement(
  'redaction-lock-events',
  { positions: 'bigint[]' },
  EVENT,
  `select ${COLUMNS} from log.events e where e.position = any(:positions) order by e.position for update`,
);

export const REWRITE_CONTENTS = statement(
  'redaction-rewrite',
  { position: 'bigint[]', data: 'text[]', metadata: 'text[]' },
  `
    update log.events e set data = i.data::json, metadata = i.metadata::json
    from unnest(:position, :data, :metadata) i (position, data, metadata)
    where e.position = i.position`,
);
