import { nullable, statement, json, CLOCK } from '../postgres/statement.js';
import { expiringRows } from '../read-models/expiry.js';
import { isLeased } from '../read-models/lease.js';

/** The lane of the webhook deliveries. A delivery process holds the lease of this lane while it delivers. */
export const WEBHOOKS_LANE = 'webhooks';
/** Older attempts of an endpoint are deleted. */
const MAX_KEPT_ATTEMPTS = 100;

/** The progress of deliveries to an endpoint. */
export interface StoredProgress {
  readonly replay: number;
  readonly logId: string;
  /** Position in the log. All earlier records were delivered, set aside, or excluded by the filter of the endpoint. */
  readonly position: number;
  /**
   * The mark of the event at the position, as in `feed-elements.ts`. Null: the mark is unknown, or no record was delivered
   * yet.
   */
  readonly event: string | null;
  /** Written by version 2.2: the position of the first parked event that the progress has passed. */
  readonly parkedFrom?: number | null;
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
      select epoch from read.projector_leases where lane = '${WEBHOOKS_LANE}' and epoch = :epoch for share
    ), given as materialized (
      select i.*, row_number() over (partition by i.endpoint order by i.ordinal) as nth
      from held, unnest(:endpoint, :progress, :attempt) with ordinality i (endpoint, progress, attempt, ordinal)
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

/** Maximum number of cursors that one statement examines. */
const CURSORS_PER_BATCH = 1_000;

/**
 * Rewinds cursors that are beyond the end of the log to the end, among the next 1,000 endpoints. Such cursors exist
 * after the log was restored to an earlier state. Without this statement, the deliveries would skip new events.
 */
export const REWIND_TO_END = statement(
  'webhooks-rewind-to-end',
  { logId: 'text', end: 'bigint', after: 'text' },
  {
    /** The last of these endpoints. Null: there are no further endpoints. */
    last: nullable('text'),
  },
  `
    with page as materialized (
      select endpoint, progress ->> 'logId' = :logId and (progress ->> 'position')::bigint > :end as "isBeyond"
      from service.webhook_progress where endpoint > :after order by endpoint limit ${CURSORS_PER_BATCH}
    ), rewound as (
      update service.webhook_progress
      set progress = progress || jsonb_build_object('position', :end, 'event', null, 'parkedFrom', null)
      where endpoint = any(array(select endpoint from page where "isBeyond"))
    )
    select max(endpoint) as last from page`,
);

/**
 * Deletes the progress and the attempts of these endpoints, if they were deleted. Endpoints that a rebuild has not
 * restored yet are kept.
 */
export const DELETE_STATE_OF_DELETED_ENDPOINTS = statement(
  'webhooks-forget-deleted',
  { endpoints: 'text[]' },
  `
    with gone as materialized (
      select id from read.webhook_endpoints where id = any(:endpoints) and state = 'DELETED'
    ), attempts as (
      delete from service.webhook_attempts where endpoint = any(array(select id from gone))
    )
    delete from service.webhook_progress where endpoint = any(array(select id from gone))`,
);

const OF_DELETED_ENDPOINTS = {
  join: `left join lateral (select e.state from read.webhook_endpoints e where e.id = t.endpoint and e.state = 'DELETED' limit 1) e on true`,
  where: 'e.state is not null',
} as const;

/** The attempts of deleted endpoints, if the process that ended their deliveries could not delete them. */
export const ATTEMPTS_OF_DELETED_ENDPOINTS = expiringRows({
  ...OF_DELETED_ENDPOINTS,
  name: 'attempts of deleted webhooks',
  table: 'service.webhook_attempts',
  walk: { endpoint: ['text', ''], number: ['bigint', '-1'] },
});

/** The progress of deleted endpoints. */
export const PROGRESS_OF_DELETED_ENDPOINTS = expiringRows({
  ...OF_DELETED_ENDPOINTS,
  name: 'progress of deleted webhooks',
  table: 'service.webhook_progress',
  walk: { endpoint: ['text', ''] },
});

/** How long a requested test is kept, in ms. The API waits less than this for the result. */
export const TEST_TTL_MS = 60_000;

export interface TestResult {
  /** The id of the delivery, by the name of its header, which the previous version writes and reads too. */
  readonly webhookId: string;
  readonly status?: number;
  /** Absent if the test succeeded. */
  readonly error?: string;
  readonly answer?: string;
  /** The duration of the request, in ms. */
  readonly took: number;
}

/** Requests a test from the delivery process. */
export const ADD_TEST = statement(
  'webhook-tests-add',
  { id: 'uuid', organization: 'text', webhookId: 'text' },
  `
    insert into service.webhook_tests (id, organization, endpoint, requested_at)
    values (:id, :organization, :webhookId, ${CLOCK})`,
);

export const DELETE_TEST = statement(
  'webhook-tests-delete',
  { id: 'uuid' },
  `delete from service.webhook_tests where id = :id`,
);

/** Lists the tests without a result that have not expired, oldest first. */
export const LIST_PENDING_TESTS = statement(
  'webhooks-take-tests',
  { keptMs: 'bigint', limit: 'integer' },
  { id: 'uuid', organization: 'text', endpoint: 'text' },
  `
    select id, organization, endpoint from service.webhook_tests
    where answered_at is null and requested_at > ${CLOCK} - :keptMs order by requested_at limit :limit`,
);

/** The tests that have expired. */
export const EXPIRED_TESTS = expiringRows({
  name: 'webhook tests',
  table: 'service.webhook_tests',
  where: `t.requested_at <= (select ${CLOCK}) - ${TEST_TTL_MS}`,
});

export const COMPLETE_TEST = statement(
  'webhooks-answer-test',
  { id: 'uuid', result: 'json' },
  `
    update service.webhook_tests set answered_at = ${CLOCK}, result = :result where id = :id and answered_at is null`,
);

/** The result of a test, and whether a delivery process is running. */
export const READ_TEST = statement(
  'webhooks-read-test',
  { id: 'uuid' },
  { result: nullable(json<TestResult>()), isDelivering: 'boolean' },
  `
    select (select result from service.webhook_tests where id = :id) as result,
      ${isLeased(`'${WEBHOOKS_LANE}'`)} as "isDelivering"`,
);
