import { CLOCK } from '../../postgres/statements.js';
import { json, nullable, statement } from '../../postgres/statement.js';

/** Whose lease the delivery process holds. */
export const WEBHOOKS_LANE = 'webhooks';
/** Attempts of an endpoint that are kept. */
export const KEPT_ATTEMPTS = 100;

/**
 * Stores what attempts came to and where they leave their endpoints, if the lease is still the one it was: whoever lost
 * it writes nothing, because the row of the lease is held until this is committed. A row without `position` is a test's;
 * one without `webhookId` no attempt, but records that are not for the endpoint, passed over.
 */
export const STORE_PROGRESS = statement(
  'webhooks-store-progress',
  {
    epoch: 'bigint',
    endpoint: 'text[]',
    replay: 'integer[]',
    logId: 'text[]',
    position: 'bigint[]',
    event: 'text[]',
    parked: 'integer[]',
    parkedFrom: 'bigint[]',
    failingSince: 'bigint[]',
    tries: 'integer[]',
    nextAttemptAt: 'bigint[]',
    refused: 'integer[]',
    lastSuccessAt: 'bigint[]',
    lastFailure: 'json[]',
    at: 'bigint[]',
    webhookId: 'text[]',
    records: 'integer[]',
    status: 'integer[]',
    error: 'text[]',
    answer: 'text[]',
    took: 'integer[]',
    setAside: 'json[]',
  },
  { isHeld: 'boolean' },
  `
    with held as materialized (
      select epoch from read.projector_leases where lane = '${WEBHOOKS_LANE}' and epoch = $1 for share
    ), given as materialized (
      select i.*, row_number() over (partition by i.endpoint order by i.ordinal) as nth
      from held, unnest($2::text[], $3::integer[], $4::text[], $5::bigint[], $6::text[], $7::integer[], $8::bigint[],
        $9::bigint[], $10::integer[], $11::bigint[], $12::integer[], $13::bigint[], $14::json[], $15::bigint[],
        $16::text[], $17::integer[], $18::integer[], $19::text[], $20::text[], $21::integer[], $22::json[])
        with ordinality
        i (endpoint, replay, log_id, position, event, parked, parked_from, failing_since, tries, next_attempt_at, refused,
          last_success_at, last_failure, at, webhook_id, records, status, error, answer, took, set_aside, ordinal)
    ), moved as (
      insert into service.webhook_progress as p (endpoint, replay, log_id, position, event, parked, parked_from,
        failing_since, tries, next_attempt_at, refused, last_success_at, last_failure)
      select endpoint, replay, log_id, position, position || ':' || event, parked, parked_from, failing_since, tries,
        next_attempt_at, refused, last_success_at, last_failure
      from given where position is not null
      on conflict (endpoint) do update set
        replay = excluded.replay, log_id = excluded.log_id, position = excluded.position, event = excluded.event,
        parked = excluded.parked,
        parked_from = excluded.parked_from, failing_since = excluded.failing_since, tries = excluded.tries,
        next_attempt_at = excluded.next_attempt_at, refused = excluded.refused,
        last_success_at = coalesce(excluded.last_success_at, p.last_success_at),
        last_failure = coalesce(excluded.last_failure, p.last_failure)
    ), last as materialized (
      select g.endpoint, max(g.nth) as added, (
        select coalesce(max(a.number), 0) from service.webhook_attempts a where a.endpoint = g.endpoint
      ) as number
      from given g where g.webhook_id is not null group by g.endpoint
    ), tried as (
      insert into service.webhook_attempts
        (endpoint, number, at, is_test, webhook_id, records, status, error, answer, took, set_aside)
      select g.endpoint, l.number + g.nth, g.at, g.position is null, g.webhook_id, g.records, g.status, g.error,
        g.answer, g.took, g.set_aside
      from given g join last l on l.endpoint = g.endpoint where g.webhook_id is not null
    ), forgotten as (
      delete from service.webhook_attempts a using last l
      where a.endpoint = l.endpoint and a.number <= l.number + l.added - ${KEPT_ATTEMPTS}
    ), counted as (
      insert into service.webhook_outcomes as o (outcome, attempts)
      select case when error is null then 'delivered' when status is null then 'unanswered' else 'refused' end, count(*)
      from given where webhook_id is not null and position is not null group by 1 order by 1
      on conflict (outcome) do update set attempts = o.attempts + excluded.attempts
    )
    select count(*) > 0 as "isHeld" from held`,
);

/**
 * Sets cursors that are beyond the end of the log back to it: the log was restored to an earlier state, and what is
 * written there from now on must not be passed over.
 */
export const REWIND_TO_END = statement(
  'webhooks-rewind-to-end',
  { logId: 'text', end: 'bigint' },
  {},
  `
    update service.webhook_progress set position = $2, parked = null, parked_from = null
    where log_id = $1 and position > $2`,
);

/** Deletes what is kept of endpoints that have been deleted. Rows that a rebuild has yet to bring are not such. */
export const FORGET_DELETED = statement(
  'webhooks-forget-deleted',
  {},
  {},
  `
    with attempts as (
      delete from service.webhook_attempts a
      where exists (select from read.webhook_endpoints e where e.id = a.endpoint and e.state = 'DELETED')
    )
    delete from service.webhook_progress p
    where exists (select from read.webhook_endpoints e where e.id = p.endpoint and e.state = 'DELETED')`,
);

/** Tests older than this have nobody left who waits for them. ms */
export const TEST_KEPT_MS = 60_000;

/** The tests that wait for an answer, the oldest first; those that nobody waits for any more are deleted. */
export const TAKE_TESTS = statement(
  'webhooks-take-tests',
  { keptMs: 'bigint', limit: 'integer' },
  { id: 'uuid', organization: 'text', endpoint: 'text' },
  `
    with old as (delete from service.webhook_tests where requested_at <= ${CLOCK} - $1::bigint)
    select id, organization, endpoint from service.webhook_tests
    where answered_at is null and requested_at > ${CLOCK} - $1::bigint order by requested_at limit $2::int`,
);

export const ANSWER_TEST = statement(
  'webhooks-answer-test',
  { id: 'uuid', result: 'json' },
  {},
  `
    update service.webhook_tests set answered_at = ${CLOCK}, result = $2 where id = $1 and answered_at is null`,
);

/**
 * Every endpoint that is not deleted, at most ten an organization, and what tells that it has changed; none while the
 * projection has yet to reach a position in the log: an endpoint may be deleted, or have another address, further on.
 */
export const LIST_LIVING = statement(
  'webhooks-list-living',
  { upTo: 'bigint' },
  { organization: 'text', id: 'text', revision: 'bigint' },
  `
    select organization, id, revision from read.webhook_endpoints
    where state <> 'DELETED'
      and exists (select from read.checkpoints where projection = 'webhooks' and position >= $1)
    order by organization, id`,
);

/** An endpoint that is not deleted, and how far it has come: null if it has not begun. */
export const READ_ENDPOINT = statement(
  'webhooks-read-endpoint',
  { organization: 'text', id: 'text' },
  {
    organization: 'text',
    id: 'text',
    url: 'text',
    types: nullable('text[]'),
    assetTypes: nullable('text[]'),
    statuses: nullable('text[]'),
    batch: 'integer',
    state: 'text',
    generation: 'integer',
    masterKey: 'text',
    previousGeneration: nullable('integer'),
    previousMasterKey: nullable('text'),
    previousUntil: nullable('bigint'),
    startAfter: 'bigint',
    startLog: 'text',
    replay: 'integer',
    revision: 'bigint',
    updatedAt: 'bigint',
    lastSuccessAt: nullable('bigint'),
    progress: nullable(json<StoredProgress>()),
  },
  `
    select e.organization, e.id, e.url, e.types, e.asset_types as "assetTypes", e.statuses, e.batch, e.state,
      e.secret_generation as generation, e.secret_key as "masterKey",
      e.previous_secret_generation as "previousGeneration", e.previous_secret_key as "previousMasterKey",
      e.previous_secret_until as "previousUntil", e.start_after as "startAfter", e.start_log as "startLog", e.replay,
      e.revision, e.updated_at as "updatedAt", p.last_success_at as "lastSuccessAt", case when p.endpoint is not null then json_build_object(
        'replay', p.replay, 'logId', p.log_id, 'position', p.position,
        'event', case when split_part(p.event, ':', 1) = p.position::text then split_part(p.event, ':', 2) end,
        'parked', p.parked, 'parkedFrom', p.parked_from,
        'failingSince', p.failing_since, 'tries', p.tries, 'nextAttemptAt', p.next_attempt_at, 'refused', p.refused
      ) end as progress
    from read.webhook_endpoints e left join service.webhook_progress p on p.endpoint = e.id
    where e.organization = $1 and e.id = $2 and e.state <> 'DELETED'`,
);

/** Where deliveries to an endpoint are. */
export interface StoredProgress {
  readonly replay: number;
  readonly logId: string;
  /** In the log. What is at or before it was delivered, set aside, or not for this endpoint. */
  readonly position: number;
  /** The mark of the event at the position, as in `feed-id.ts`; null: not known, or a beginning. */
  readonly event: string | null;
  /** Stands for the parked events at or before the position; null: not known. */
  readonly parked: number | null;
  /** The position of the first of those that came after the endpoint's beginning; null: there is none. */
  readonly parkedFrom: number | null;
  /** The first failure since the last success, ms; null: it is not failing. */
  readonly failingSince: number | null;
  /** Failures since the last success. */
  readonly tries: number;
  /** ms; null: as soon as there is something. */
  readonly nextAttemptAt: number | null;
  /** How often the record after the position was refused when it was sent alone. */
  readonly refused: number;
}

/** Of each endpoint and kind, records behind are counted up to here. */
const COUNTED_AT_MOST = 100;

/** How the deliveries are doing, for Prometheus: one row. */
export const WEBHOOK_FIGURES = statement(
  'webhooks-figures',
  {},
  {
    active: 'bigint',
    failing: 'bigint',
    disabled: 'bigint',
    behind: 'bigint',
    /** Of the oldest record that an endpoint has not got, by the database's clock. ms; null: there is none. */
    oldestAge: nullable('bigint'),
    delivered: 'bigint',
    refused: 'bigint',
    unanswered: 'bigint',
  },
  `
    with living as materialized (
      select e.organization, e.types, e.state,
        coalesce(p.replay = e.replay and p.failing_since is not null, false) as failing,
        case when p.replay = e.replay then p.position else e.start_after end as position
      from read.webhook_endpoints e left join service.webhook_progress p on p.endpoint = e.id
      where e.state <> 'DELETED'
    ), waiting as (
      select
        (select count(*) from (
          select from read.listed_records r
          where r.organization = l.organization and r.kind = k.kind and r.position > l.position limit ${COUNTED_AT_MOST}
        ) counted) as behind,
        (select r.stored_at from read.listed_records r
          where r.organization = l.organization and r.kind = k.kind and r.position > l.position
          order by r.position limit 1) as oldest
      from living l join (values (1::smallint, 'report'), (2, 'threat'), (3, 'takedown'), (4, 'verdict')) k (kind, name)
        on l.types is null or k.name = any(l.types)
      where l.state = 'ACTIVE'
    )
    select
      (select count(*) from living where state = 'ACTIVE' and not failing) as active,
      (select count(*) from living where state = 'ACTIVE' and failing) as failing,
      (select count(*) from living where state = 'DISABLED') as disabled,
      (select coalesce(sum(behind), 0)::bigint from waiting) as behind,
      (select greatest(0, ${CLOCK} - min(oldest)) from waiting) as "oldestAge",
      (select coalesce(sum(attempts), 0)::bigint from service.webhook_outcomes where outcome = 'delivered') as delivered,
      (select coalesce(sum(attempts), 0)::bigint from service.webhook_outcomes where outcome = 'refused') as refused,
      (select coalesce(sum(attempts), 0)::bigint from service.webhook_outcomes where outcome = 'unanswered') as unanswered`,
);
