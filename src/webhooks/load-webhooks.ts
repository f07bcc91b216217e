import type { Pool } from 'pg';
import { numbersOf } from '../events/listed-items.js';
import { type Webhook, WEBHOOK_TYPES } from '../events/types/organizations.js';
import { CLOCK, json, nullable, statement } from '../postgres/statement.js';
import { positionOf } from '../read-models/checkpoints.js';
import type { LastFailure, StoredAttempt } from './progress-sql.js';
import type { Loaded } from '../event-log/command-queue.js';
import type { EventLog } from '../event-log/event-log.js';
import { readTail } from '../event-log/read-streams.js';
import { webhooksStream } from '../events/streams.js';
import { evolve, type Webhooks } from './webhook.js';
import { TIME_LIMIT_MS } from '../read-models/request-concurrency.js';
import { limit } from '../limits.js';

/** Maximum number of changes after the cursor of an endpoint that are examined to count the backlog of the endpoint. */
const MAX_BEHIND = limit('changes that `behind` covers', 10_000, 'changes', 'webhook', 'not counted');

/**
 * Reads the endpoints of an organization that are not deleted, and the endpoints that were created by requests with
 * these keys. If there are no such endpoints, the result is one row without an endpoint. Each row has the
 * position and the stream revision that the read model has reached.
 */
export const KNOWN_WEBHOOKS = statement(
  'webhooks-known',
  { organization: 'text', keyHashes: 'text[]' },
  { now: 'bigint', position: 'bigint', reached: nullable('bigint'), endpoint: nullable(json<Webhook>()) },
  `
    select ${CLOCK} as now, one.position,
      (select max(revision) from read.webhook_endpoints where organization = :organization) as reached,
      w.endpoint::json as endpoint
    from (select ${positionOf('webhooks')} as position) one left join lateral (
      select id, created_at, endpoint from read.webhook_endpoints where organization = :organization and state <> 'DELETED'
      union
      select id, created_at, endpoint from read.webhook_endpoints
      where organization = :organization and request_key_hash = any(:keyHashes)
    ) w on true
    order by w.created_at, w.id`,
);

const PARTS = numbersOf()
  .map(
    (kind) => `(
        select r.position, (r.created_at is null or (
          (i."assetTypes" is null or r.type = any(i."assetTypes")) and (i.statuses is null or r.status = any(i.statuses))
        )) as wanted
        from read.register r
        where ${kind} = any(i.kinds) and r.organization = :organization and r.kind = ${kind} and r.position > c.position
        order by r.position limit ${MAX_BEHIND}
      )`,
  )
  .join(' union all ');

/**
 * The state of the deliveries to these endpoints, and their backlog: how many of the next 10,000 changes pass the
 * filter. Progress from before a replay is ignored, except for the last success and the last failure.
 */
export const READ_PROGRESS = statement(
  'webhooks-progress',
  { organization: 'text', webhooks: 'json' },
  {
    webhookId: 'text',
    behind: 'bigint',
    isFailing: 'boolean',
    nextAttemptAt: nullable('bigint'),
    lastSuccessAt: nullable('bigint'),
    lastFailure: nullable(json<LastFailure>()),
  },
  `
    select i."webhookId", b.behind, c.progress ->> 'failingSince' is not null as "isFailing",
      (c.progress ->> 'nextAttemptAt')::bigint as "nextAttemptAt",
      (p.progress ->> 'lastSuccessAt')::bigint as "lastSuccessAt",
      nullif(p.progress -> 'lastFailure', 'null')::json as "lastFailure"
    from json_to_recordset(:webhooks)
      i ("webhookId" text, kinds smallint[], "assetTypes" text[], statuses text[], replay integer, "startAfter" bigint)
    left join service.webhook_progress p on p.endpoint = i."webhookId"
    cross join lateral (
      select current.progress, coalesce((current.progress ->> 'position')::bigint, i."startAfter") as position
      from (select case when (p.progress ->> 'replay')::integer = i.replay then p.progress end as progress) current
    ) c
    cross join lateral (
      select count(*) filter (where wanted) as behind
      from (select wanted from (${PARTS}) next order by position limit ${MAX_BEHIND}) counted
    ) b`,
);

/** The end of the feed. */
export const FEED_END = statement(
  'webhooks-feed-end',
  {},
  { position: 'bigint', log: 'text' },
  `select position, log_id as log from read.checkpoints where projection = 'register'`,
);

/** The first record of an organization that meets the condition, of any kind, in the order of the feed. */
const firstRecord = (condition: string, order: 'asc' | 'desc'): string => `
  select position, stored_at from (${numbersOf()
    .map(
      (kind) => `(
        select position, stored_at from read.register
        where organization = :organization and kind = ${kind} and ${condition} order by position ${order} limit 1
      )`,
    )
    .join(' union all ')}) each order by position ${order} limit 1`;

/**
 * The position in the feed of an organization's last record that was stored before an instant. A bisection finds this
 * record in about 40 steps, however many records there are. Gaps between positions are harmless, because only rows are
 * compared. `latest` is the latest instant that is in the past: the time of the database, or the time at which the
 * organization's last record was stored if that time is later.
 */
export const FEED_POSITION_AT = statement(
  'webhooks-feed-place-at',
  { organization: 'text', instant: 'bigint' },
  { position: 'bigint', log: 'text', latest: 'bigint' },
  `
    with recursive halves (low, high) as (
      select -1::bigint, position from read.checkpoints where projection = 'register'
      union all
      select case when is_before then first.position else h.low end, case when is_before then h.high else h.middle - 1 end
      from (select low, high, (low + high + 1) / 2 as middle from halves where low < high) h
      left join lateral (${firstRecord('position >= h.middle', 'asc')}) first on true
      cross join lateral (
        select coalesce(first.position <= h.high and first.stored_at < :instant, false) as is_before
      ) comparison
    )
    select halves.low as position, c.log_id as log,
      greatest(
        ${CLOCK},
        (select stored_at from (${firstRecord('true', 'desc')}) last)
      ) as latest
    from halves, read.checkpoints c where c.projection = 'register' and halves.low >= halves.high`,
);

/** The newest attempts of an endpoint. */
export const READ_ATTEMPTS = statement(
  'webhooks-attempts',
  { webhookId: 'text', limit: 'bigint' },
  { attempt: json<StoredAttempt>() },
  `
    select attempt from service.webhook_attempts where endpoint = :webhookId order by number desc limit :limit`,
);

export interface LoadedWebhooks extends Webhooks, Loaded {
  /** The position of the log that the read model has reached. */
  readonly position: bigint;
}

/** Each event contains the whole endpoint. With the longest URLs and filters, this many events take about 10 MB. */
const MAX_TAIL = limit('events of webhooks that the read model lacks', 1_000, 'events', 'organization', '503');

/**
 * Loads the current endpoints of an organization, including changes made on other instances: the read model, plus the
 * events in the stream that the read model does not include yet.
 * @param keys hashes of `Idempotency-Key`s whose endpoints are loaded even if they are deleted
 * @throws Unavailable if the read model is too far behind
 */
export const loadWebhooks = async (
  pool: Pool,
  log: EventLog,
  organization: string,
  keys: readonly string[] = [],
): Promise<LoadedWebhooks> => {
  const rows = await KNOWN_WEBHOOKS.run(pool, { organization, keyHashes: keys }, TIME_LIMIT_MS);
  const webhooks: Webhooks = { byId: new Map() };
  for (const { endpoint } of rows) if (endpoint !== null) webhooks.byId.set(endpoint.webhookId, endpoint);
  const tail = {
    stream: webhooksStream(organization),
    types: WEBHOOK_TYPES,
    after: BigInt(rows[0]!.reached ?? -1),
    maxEvents: MAX_TAIL,
    name: 'webhooks',
  };
  const revision = await readTail(log, tail, (event) => evolve(webhooks, event));
  return { ...webhooks, revision, now: rows[0]!.now, position: BigInt(rows[0]!.position) };
};
