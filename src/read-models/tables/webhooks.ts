import { OWN_ROWS, rowsOfNames, type RowsByTable } from '../erasures/organization-rows.js';

/** Webhook endpoints, written by the projection `webhooks`. */
export interface WebhookTables {
  /** One row per webhook endpoint, including deleted endpoints, in its newest revision. */
  webhook_endpoints: {
    organization: string;
    id: string;
    /** ACTIVE, DISABLED or DELETED. */
    state: string;
    /** ms */
    created_at: number;
    /**
     * Hash of the `Idempotency-Key` of the request that created the endpoint. Null: the request had no
     * `Idempotency-Key`.
     */
    request_key_hash: string | null;
    /** Revision in the stream `webhooks-{organization}`. */
    revision: number;
    /** The `data` of the event with that revision, which contains the complete endpoint. */
    endpoint: unknown;
  };
}

/** The state of the delivery process, which the log does not contain. */
export interface WebhookDeliveryTables {
  /** The progress of deliveries to each endpoint that is not deleted. */
  'service.webhook_progress': {
    endpoint: string;
    /** `StoredProgress`. */
    progress: unknown;
  };
  /** Number of delivery attempts per outcome: delivered, refused or unanswered. */
  'service.webhook_outcomes': {
    outcome: string;
    attempts: number;
  };
  /** The newest 100 attempts of each endpoint, including tests. */
  'service.webhook_attempts': {
    endpoint: string;
    /** Consecutive number of the attempt within the endpoint. */
    number: number;
    /** `StoredAttempt`. */
    attempt: unknown;
  };
  /** Tests that the API requested from the delivery process, and their results. Rows are deleted after a minute. */
  'service.webhook_tests': {
    id: string;
    organization: string;
    endpoint: string;
    /** ms */
    requested_at: number;
    /** ms. Null: the test is pending. */
    answered_at: number | null;
    /**
     * `{ webhookId, status?, error?, answer?, took }`; `took` is in ms, and `error` is absent if the test succeeded.
     */
    result: unknown;
  };
}

export const ROWS_OF_WEBHOOKS: RowsByTable<WebhookTables & WebhookDeliveryTables> = {
  webhook_endpoints: OWN_ROWS,
  'service.webhook_progress': rowsOfNames('endpoint'),
  'service.webhook_attempts': rowsOfNames('endpoint'),
  'service.webhook_tests': OWN_ROWS,
  'service.webhook_outcomes': [],
};
