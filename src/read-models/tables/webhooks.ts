import type { Generated } from 'kysely';

/** Webhook endpoints, which are projected. */
export interface WebhookTables {
  /** One row per webhook endpoint, deleted ones included: the newest revision of the stream that is about it. */
  webhook_endpoints: {
    organization: string;
    id: string;
    url: string;
    /** Kinds of records, by the names of `kinds.ts`. Null: all; so are the next two. */
    types: string[] | null;
    asset_types: string[] | null;
    statuses: string[] | null;
    /** Records of a delivery, at most. */
    batch: number;
    description: string | null;
    /** ACTIVE, DISABLED or DELETED. */
    state: string;
    /** Of a disabled one: requested, gone or failing. */
    disabled_reason: string | null;
    /** From 1. Of which secret and key: `src/webhooks/secret.ts`. */
    secret_generation: number;
    /** The id of the master key that it is derived from. */
    secret_key: string;
    /** The secret before it, which also signs until then (ms); null: there is none, or no longer. */
    previous_secret_generation: number | null;
    previous_secret_key: string | null;
    previous_secret_until: number | null;
    /** The position in the log after which it begins; -1: the beginning. */
    start_after: number;
    /** The id of the log in which that is a position. */
    start_log: string;
    /** Raised by each replay: a cursor of another number is void, and begins at `start_after` again. */
    replay: number;
    /** ms */
    created_at: number;
    /** ms */
    updated_at: number;
    /** Of the `Idempotency-Key` and body it was created with, if there was one. */
    request_key_hash: string | null;
    request_body_hash: string | null;
    /** Of the organization's stream, `webhooks-{organization}`. */
    revision: number;
  };
}

/** What the delivery process keeps of the endpoints. The log does not hold it. */
export interface WebhookDeliveryTables {
  /** Where the delivery process is with each endpoint. Of a deleted endpoint it deletes the row. */
  'service.webhook_progress': {
    endpoint: string;
    /** Of `webhook_endpoints`; a row of another number is void. */
    replay: number;
    /** The id of the log in which `position` is one. */
    log_id: string;
    /** In the log: what is at or before it was delivered, or set aside. */
    position: number;
    /** The first of the failures since the last success, ms; null: it is not failing. */
    failing_since: number | null;
    /** Failures since the last success. */
    tries: Generated<number>;
    /** ms; null: as soon as there is something. */
    next_attempt_at: number | null;
    /** ms */
    last_success_at: number | null;
    /** `{ at, status?, error, answer }`, `at` in ms. */
    last_failure: unknown;
    /** How often the record after `position` was refused when it was sent alone. */
    refused: Generated<number>;
    /** Stands for the parked events at or before `position`; null: not known. */
    parked: number | null;
    /** The position of the first of those that came after the endpoint's beginning; null: there is none. */
    parked_from: number | null;
    /** `position:mark` of the event at `position`; null: not known. Of another position: written by a version before. */
    event: string | null;
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
    /** ms */
    at: number;
    is_test: Generated<boolean>;
    webhook_id: string;
    records: number;
    /** Null: no answer came. */
    status: number | null;
    /** Null: a success. */
    error: string | null;
    /** At most 1 KiB of it, printable. */
    answer: string | null;
    /** ms */
    took: number;
    /** `{ type, id }` of the record that was set aside by this attempt. */
    set_aside: unknown;
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
