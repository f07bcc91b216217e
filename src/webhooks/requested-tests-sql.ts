import { json, nullable, statement } from '../postgres/statement.js';
import { CLOCK } from '../postgres/statements.js';
import { expiringRows } from '../read-models/expiry/expiring-rows-sql.js';
import { WEBHOOKS_LANE } from './progress-sql.js';

/** How long a requested test is kept, in ms. The API waits less than this for the result. */
export const TEST_TTL_MS = 60_000;

export interface TestResult {
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
  {},
  `
    insert into service.webhook_tests (id, organization, endpoint, requested_at) values ($1, $2, $3, ${CLOCK})`,
);

export const DELETE_TEST = statement(
  'webhook-tests-delete',
  { id: 'uuid' },
  {},
  `delete from service.webhook_tests where id = $1`,
);

/** Lists the tests without a result that have not expired, oldest first. */
export const LIST_PENDING_TESTS = statement(
  'webhooks-take-tests',
  { keptMs: 'bigint', limit: 'integer' },
  { id: 'uuid', organization: 'text', endpoint: 'text' },
  `
    select id, organization, endpoint from service.webhook_tests
    where answered_at is null and requested_at > ${CLOCK} - $1::bigint order by requested_at limit $2::int`,
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
  {},
  `
    update service.webhook_tests set answered_at = ${CLOCK}, result = $2 where id = $1 and answered_at is null`,
);

/** The result of a test, and whether a delivery process is running. */
export const READ_TEST = statement(
  'webhooks-read-test',
  { id: 'uuid' },
  { result: nullable(json<TestResult>()), isDelivering: 'boolean' },
  `
    select (select result from service.webhook_tests where id = $1) as result,
      exists (
        select from read.projector_leases
        where lane = '${WEBHOOKS_LANE}' and expires_at > extract(epoch from clock_timestamp()) * 1000
      ) as "isDelivering"`,
);
