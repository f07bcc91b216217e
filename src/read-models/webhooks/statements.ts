import { CLOCK } from '../../postgres/statements.js';
import { nullable, statement } from '../../postgres/statement.js';

/** Whose lease the delivery process holds. */
export const WEBHOOKS_LANE = 'webhooks';
/** Attempts of an endpoint that are kept. */
export const KEPT_ATTEMPTS = 100;

/**
 * Stores what attempts came to and where they leave their endpoints, if the lease is still the one it was: whoever lost
 * it writes nothing, because the row of the lease is held until this is committed. A row without progress is a test's;
 * one without an attempt: records that are not for the endpoint were passed over.
 */
export const STORE_PROGRESS = statement(
  'webhooks-store-progress',
  { epoch: 'bigint', endpoint: 'text[]', progress: 'jsonb[]', attempt: 'json[]' },
  { isHeld: 'boolean' },
  `
    with held as materialized (
      select epoch from read.projector_leases where lane = '${WEBHOOKS_LANE}' and epoch = $1 for share
    ), given as materialized (
      select i.*, row_number() over (partition by i.endpoint order by i.ordinal) as nth
      from held, unnest($2::text[], $3::jsonb[], $4::json[]) with ordinality i (endpoint, progress, attempt, ordinal)
    ), moved as (
      insert into service.webhook_progress (endpoint, progress)
      select endpoint, progress from given where progress is not null
      on conflict (endpoint) do update set progress = excluded.progress
    ), last as materialized (
      select g.endpoint, max(g.nth) as added, (
        select coalesce(max(a.number), 0) from service.webhook_attempts a where a.endpoint = g.endpoint
      ) as number
      from given g where g.attempt is not null group by g.endpoint
    ), tried as (
      insert into service.webhook_attempts (endpoint, number, attempt)
      select g.endpoint, l.number + g.nth, g.attempt
      from given g join last l on l.endpoint = g.endpoint where g.attempt is not null
    ), forgotten as (
      delete from service.webhook_attempts a using last l
      where a.endpoint = l.endpoint and a.number <= l.number + l.added - ${KEPT_ATTEMPTS}
    ), counted as (
      insert into service.webhook_outcomes as o (outcome, attempts)
      select case
          when attempt ->> 'error' is null then 'delivered' when attempt ->> 'status' is null then 'unanswered'
          else 'refused'
        end, count(*)
      from given where attempt is not null and progress is not null group by 1 order by 1
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
    update service.webhook_progress
    set progress = progress || jsonb_build_object('position', $2::bigint, 'event', null, 'parked', null, 'parkedFrom', null)
    where progress ->> 'logId' = $1 and (progress ->> 'position')::bigint > $2`,
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
  /** ms; null: nothing was delivered yet. */
  readonly lastSuccessAt: number | null;
  /** Null: nothing has failed yet. */
  readonly lastFailure: LastFailure | null;
}

export interface LastFailure {
  /** ms */
  readonly at: number;
  readonly status?: number | undefined;
  readonly error: string;
  readonly answer: string;
}

/** What is kept of an attempt. */
export interface StoredAttempt {
  /** ms */
  readonly at: number;
  readonly deliveryId: string;
  readonly records: number;
  /** How long it took. */
  readonly ms: number;
  readonly isTest: boolean;
  /** Absent: no answer came. */
  readonly status?: number | undefined;
  /** Absent: a success. */
  readonly error?: string | undefined;
  /** The record that was set aside by this attempt. */
  readonly setAside?: { readonly type: string; readonly id: string } | undefined;
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
      select e.organization, e.endpoint -> 'types' as types, e.state, p.progress ->> 'failingSince' is not null as failing,
        coalesce(p.progress ->> 'position', e.endpoint ->> 'startAfter')::bigint as position
      from read.webhook_endpoints e
      left join service.webhook_progress p on p.endpoint = e.id and p.progress -> 'replay' = e.endpoint -> 'replay'
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
        on l.types is null or l.types ? k.name
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
