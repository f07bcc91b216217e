import {
  API_KEYS_STREAM,
  ERASED_CATEGORY,
  ERASED_TYPE,
  OPERATIONS_STREAM,
  ORGANIZATION_CATEGORIES,
} from '../../events/streams.js';
import { json, statement } from '../../postgres/statement.js';
import { hasReviewOf, withoutReviewsOf } from '../../postgres/json/reviews.js';

/** The advisory lock under which `log.append` assigns positions (`schema.ts`). */
export const APPEND_LOCK = 20_261_121n;

const CATEGORY_LIST = ORGANIZATION_CATEGORIES.map((category) => `'${category}'`).join(', ');

/** The organization of a stream, as an SQL expression; null for streams that several organizations share. */
const organizationSql = (stream: string): string =>
  `case when split_part(${stream}, '-', 1) in (${CATEGORY_LIST})
    then split_part(substr(${stream}, strpos(${stream}, '-') + 1), ':', 1) end`;

/**
 * The part of an event that belongs to the organization `$1`: its stream, a key event, or reviews. Null: nothing. The
 * keys of the organization are known by their digests, because the event that names the organization may have been
 * erased.
 */
const PART = `
  case
    when ${organizationSql('e.stream')} = $1 then 'stream'
    when e.stream = '${API_KEYS_STREAM}' and (
      e.type = 'ApiKeyIssued' and e.data ->> 'organization' = $1
      or e.type = 'ApiKeyRevoked' and log.is_erased(e.data ->> 'keyId')
    ) then 'key'
    when e.type = 'AssetStatusChanged' and ${hasReviewOf('e.data', '$1::text')} then 'review'
  end`;

/** The keys and webhook endpoints of an organization. */
export const NAMES_OF_ORGANIZATION = statement(
  'erasure-names',
  { organization: 'text' },
  { name: 'text' },
  `
    select data ->> 'keyId' as name from log.events
    where stream = '${API_KEYS_STREAM}' and type = 'ApiKeyIssued' and data ->> 'organization' = $1
    union all
    select data ->> 'webhookId' from log.events where stream = 'webhooks-' || $1 and type = 'WebhookCreated'`,
);

/** Makes the log refuse events of organizations with these digests. */
export const REFUSE_ERASED = statement(
  'erasure-refuse',
  { digests: 'text[]', logId: 'text' },
  {},
  `insert into log.erased (digest, log_id) select unnest($1::text[]), $2 on conflict do nothing`,
);

/** Counts the events of an organization at the positions from `$2` to `$3`, without `$3`, by type. */
export const COUNT_EVENTS = statement(
  'erasure-count-events',
  { organization: 'text', from: 'bigint', to: 'bigint' },
  { type: 'text', events: 'bigint' },
  `
    select e.type, count(*) as events from log.events e
    where e.position >= $2 and e.position < $3 and ${PART} is not null group by e.type`,
);

/**
 * Rewrites the events of an organization at the positions from `$2` to `$3`, without `$3`, and counts them by their
 * earlier type. Position, event id and time of recording are kept. In streams that several organizations share, an event
 * keeps its place, so that the revisions of the stream have no gaps.
 */
export const REWRITE_EVENTS = statement(
  'erasure-rewrite-events',
  { organization: 'text', from: 'bigint', to: 'bigint' },
  { type: 'text', events: 'bigint', first: 'bigint', last: 'bigint' },
  `
    with found as materialized (
      select e.position, e.type, ${PART} as part from log.events e where e.position >= $2 and e.position < $3
    ), rewritten as (
      update log.events e set
        stream = case when f.part = 'stream' then '${ERASED_CATEGORY}-' || e.position else e.stream end,
        revision = case when f.part = 'stream' then 0 else e.revision end,
        type = case when f.part = 'review' then e.type else '${ERASED_TYPE}' end,
        data = case when f.part = 'review' then ${withoutReviewsOf('e.data', '$1::text')} else '{}' end,
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
 * Erases the reasons for which parked events of the organization were dropped, from one revision to another. Operators
 * write these reasons.
 */
export const REWRITE_REASONS = statement(
  'erasure-rewrite-reasons',
  { from: 'bigint', to: 'bigint' },
  { position: 'bigint' },
  `
    update log.events e set data = jsonb_set(e.data::jsonb, '{reason}', '"[erased]"')::json
    where e.stream = '${OPERATIONS_STREAM}' and e.revision >= $1 and e.revision < $2
      and e.type = 'ParkedEventDropped' and e.data ->> 'reason' <> '[erased]'
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
    where stream = '${OPERATIONS_STREAM}' and type = 'OrganizationErased' and data ->> 'digest' = $1 limit 1`,
);
