/** Webhook endpoints, which are projected. */
export interface WebhookTables {
  /** One row per webhook endpoint, deleted ones included: the newest revision of the stream that is about it. */
  webhook_endpoints: {
    organization: string;
    id: string;
    /** ACTIVE, DISABLED or DELETED. */
    state: string;
    /** ms */
    created_at: number;
    /** Of the `Idempotency-Key` it was created with, if there was one. */
    request_key_hash: string | null;
    /** Of the organization's stream, `webhooks-{organization}`. */
    revision: number;
    /** The `data` of that event, which has the whole endpoint. */
    endpoint: unknown;
  };
}

/** What the delivery process keeps of the endpoints. The log does not hold it. */
export interface WebhookDeliveryTables {
  /** Where the delivery process is with each endpoint. Of a deleted endpoint it deletes the row. */
  'service.webhook_progress': {
    endpoint: string;
    /** `StoredProgress`. */
    progress: unknown;
  };
  /** How many deliveries were attempted, by what came of it: delivered, refused or unanswered. */
  'service.webhook_outcomes': {
    outcome: string;
    attempts: number;
  };
  /** The newest 100 attempts of each endpoint, tests included. */
  'service.webhook_attempts': {
    endpoint: string;
    /** Grows with each attempt of the endpoint. */
    number: number;
    /** `{ at, isTest, deliveryId, records, status?, error?, ms, setAside? }`, `at` in ms; no `error`: a success. */
    attempt: unknown;
  };
  /** Tests that the API asked the delivery process for, and their results; rows of over a minute ago are deleted. */
  'service.webhook_tests': {
    id: string;
    organization: string;
    endpoint: string;
    /** ms */
    requested_at: number;
    /** ms; null: not yet */
    answered_at: number | null;
    /** `{ webhookId, status?, error?, answer?, took }`, `took` in ms; no `error`: a success. */
    result: unknown;
  };
}
