import { CLOCK } from '../../postgres/statements.js';
import { nullable, statement } from '../../postgres/statement.js';

/** The lane of the webhook deliveries. A delivery process holds the lease of this lane while it delivers. */
export const WEBHOOKS_LANE = 'webhooks';
/** Older attempts of an endpoint are deleted. */
export const MAX_KEPT_ATTEMPTS = 100;

/**
 * Stores attempts and the resulting progress of their endpoints, if the epoch of the lease is unchanged. The statement
 * locks the row of the lease until it is committed, so a process that lost the lease writes nothing. Tests have an
 * attempt but no progress. Progress without an attempt means that the delivery only skipped records that the endpoint's
 * filter excludes.
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
      where a.endpoint = l.endpoint and a.number <= l.number + l.added - ${MAX_KEPT_ATTEMPTS}
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
 * Rewinds cursors that are beyond the end of the log to the end. Such cursors exist after the log was restored to an
 * earlier state. Without this statement, the deliveries would skip new events.
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

/**
 * Deletes the progress and the attempts of deleted endpoints. Endpoints that a rebuild has not restored yet are kept.
 */
export const DELETE_STATE_OF_DELETED_ENDPOINTS = statement(
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

/** How long a requested test is kept, in ms. The API waits less than this for the result. */
export const TEST_TTL_MS = 60_000;

/** Lists the tests without a result, oldest first, and deletes expired tests. */
export const LIST_PENDING_TESTS = statement(
  'webhooks-take-tests',
  { keptMs: 'bigint', limit: 'integer' },
  { id: 'uuid', organization: 'text', endpoint: 'text' },
  `
    with old as (delete from service.webhook_tests where requested_at <= ${CLOCK} - $1::bigint)
    select id, organization, endpoint from service.webhook_tests
    where answered_at is null and requested_at > ${CLOCK} - $1::bigint order by requested_at limit $2::int`,
);

export const COMPLETE_TEST = statement(
  'webhooks-answer-test',
  { id: 'uuid', result: 'json' },
  {},
  `
    update service.webhook_tests set answered_at = ${CLOCK}, result = $2 where id = $1 and answered_at is null`,
);

/**
 * Lists all endpoints that are not deleted (at most ten per organization) with their revisions, unless the list has the
 * given fingerprint; otherwise every row has the new fingerprint. An empty list is one row without an endpoint. The list
 * is empty until the projection has reached a position in the log, because later events may delete an endpoint or change
 * its URL.
 */
export const LIST_CHANGED_ENDPOINTS = statement(
  'webhooks-list-changed',
  { upTo: 'bigint', fingerprint: 'text' },
  { fingerprint: 'text', organization: nullable('text'), id: nullable('text'), revision: nullable('bigint') },
  `
    with living as materialized (
      select organization, id, revision from read.webhook_endpoints
      where state <> 'DELETED'
        and exists (select from read.checkpoints where projection = 'webhooks' and position >= $1)
    )
    select f.fingerprint, l.organization, l.id, l.revision
    from (
      select coalesce(bit_xor(hashtextextended(organization || ':' || id, revision)), 0)::text as fingerprint from living
    ) f left join living l on true
    where f.fingerprint <> $2
    order by l.organization, l.id`,
);

/** The progress of deliveries to an endpoint. */
export interface StoredProgress {
  readonly replay: number;
  readonly logId: string;
  /** Position in the log. All earlier records were delivered, set aside, or excluded by the filter of the endpoint. */
  readonly position: number;
  /**
   * The mark of the event at the position, as in `feed-id.ts`. Null: the mark is unknown, or no record was delivered
   * yet.
   */
  readonly event: string | null;
  /** The checksum of the parked events up to the position, as in `feed-id.ts`. Null: the checksum is unknown. */
  readonly parked: number | null;
  /** The position of the first of these parked events after the start of the endpoint. Null: there is no such event. */
  readonly parkedFrom: number | null;
  /**
   * When the first attempt after the last success failed (ms). Null: the last attempt succeeded, or there was no
   * attempt.
   */
  readonly failingSince: number | null;
  /** Number of failures since the last success. */
  readonly tries: number;
  /** ms. Null: the next record is sent immediately. */
  readonly nextAttemptAt: number | null;
  /** How often the receiver refused the next record when it was sent alone. */
  readonly refused: number;
  /** The `webhook-id` of that record. Absent or null: the id is unknown, or the receiver did not refuse the record. */
  readonly refusedId?: string | null;
  /** ms. Null: no attempt has succeeded yet. */
  readonly lastSuccessAt: number | null;
  /** Null: no attempt has failed yet. */
  readonly lastFailure: LastFailure | null;
}

export interface LastFailure {
  /** ms */
  readonly at: number;
  readonly status?: number | undefined;
  readonly error: string;
  readonly answer: string;
}

/** An attempt as it is stored. */
export interface StoredAttempt {
  /** ms */
  readonly at: number;
  readonly deliveryId: string;
  readonly records: number;
  /** Duration of the attempt. */
  readonly ms: number;
  readonly isTest: boolean;
  /** Absent: the receiver did not respond. */
  readonly status?: number | undefined;
  /** Absent: the attempt succeeded. */
  readonly error?: string | undefined;
  /** The record that was set aside after this attempt. */
  readonly setAside?: { readonly type: string; readonly id: string } | undefined;
}

/** Maximum number of records that are counted for the backlog of an endpoint and a kind. */
const MAX_COUNTED = 100;

/**
 * The numbers of endpoints, attempts and pending records, for Prometheus, in one row. The list of kinds is a copy of
 * `LISTED_KIND` in `src/events/kinds.ts`, which this module must not import.
 */
export const READ_WEBHOOK_FIGURES = statement(
  'webhooks-figures',
  {},
  {
    active: 'bigint',
    failing: 'bigint',
    disabled: 'bigint',
    behind: 'bigint',
    /** Age of the oldest pending record by the database's clock (ms). Null: no record is pending. */
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
          where r.organization = l.organization and r.kind = k.kind and r.position > l.position limit ${MAX_COUNTED}
        ) counted) as behind,
        (select r.stored_at from read.listed_records r
          where r.organization = l.organization and r.kind = k.kind and r.position > l.position
          order by r.position limit 1) as oldest
      from living l join (values (1::smallint, 'report'), (2, 'threat'), (3, 'takedown'), (4, 'verdict'), (5, 'dispute')) k (kind, name)
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
