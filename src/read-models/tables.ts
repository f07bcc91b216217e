import type { Generated } from 'kysely';

/**
 * The schema `read`. The read models, which only projections write, can be dropped and rebuilt from the log; the last
 * tables, from `webhook_progress` on, are written by this service itself and start empty again.
 */
export interface Tables {
  /** How far each projection has read the log. */
  checkpoints: {
    projection: string;
    log_id: string;
    position: number;
    /** Everything acknowledged before this instant (ms) is in the rows. */
    as_of: number;
    /** Events of a type that this version does not know, passed over. */
    unknown: Generated<number>;
    /** The event at `position`, if there was one yet. */
    last_stream: string | null;
    last_revision: number | null;
    last_event_id: string | null;
    /** Of the rules by which the rows were made. */
    version: Generated<number>;
  };
  /** Events that a projection could not apply, kept until an operator retries or drops them. */
  parked_events: {
    projection: string;
    event_id: string;
    position: number;
    stream: string;
    revision: number;
    type: string;
    data: unknown;
    metadata: unknown;
    reason: string;
    attempts: Generated<number>;
    /** ms */
    parked_at: number;
    /** When the log took it, ms. Null: parked by a version that did not keep it. */
    recorded_at: number | null;
    /** Whose record it is about. Null: of no single organization, or nobody can tell. */
    organization: string | null;
    /** The key that sent it. Null: the log does not say. */
    key_id: string | null;
    /** Whether the event itself is at fault, so that the reason is for its sender. Null: nobody noted it. */
    unreadable: boolean | null;
  };
  /** Which projector worked, as versions of before `projector_leases` have it. */
  projector_lease: {
    singleton: Generated<boolean>;
    owner: string;
    epoch: number;
    /** ms, the database's clock */
    expires_at: number;
  };
  /** Which projector works in each lane. */
  projector_leases: {
    lane: string;
    owner: string;
    epoch: number;
    /** ms, the database's clock */
    expires_at: number;
    /** Until then another projector, which has no lane, waits for this one. ms, the database's clock */
    wanted_until: Generated<number>;
  };
  /** One last-writer-wins row per record, deleted ones included: the newest state seen and what it counts as. */
  records: {
    organization: string;
    kind: string;
    id: string;
    version: number;
    event_id: string;
    /** The facts it counts as now; [] = nothing. */
    counts: unknown;
  };
  /** What is counted, one row each. `brand` '' = the organization as a whole. */
  facts: {
    organization: string;
    brand: string;
    /** ms */
    at: number;
    measure: number;
    type: string;
    record: string;
  };
  /** Facts by UTC day. */
  days: {
    organization: string;
    brand: string;
    measure: number;
    day: number;
    n: number;
  };
  /** Threats by asset type and UTC day. */
  type_days: {
    organization: string;
    brand: string;
    day: number;
    type: string;
    n: number;
  };
  /** One last-writer-wins row per takedown, deleted ones included. */
  takedowns: {
    organization: string;
    id: string;
    version: number;
    event_id: string;
    /** '' = none. */
    brand: string;
    type: string;
    /** As in `takedown-outcome.ts`; null: deleted. */
    outcome: number | null;
    /** ms */
    created_at: number | null;
    /** ms; of a completed one, when it was completed. */
    updated_at: number | null;
    /** ms between the two, of a completed one. */
    took: number | null;
  };
  /**
   * One row per record and organization that it concerns, deleted ones included: the newest state, for lists and the
   * feed. Reports, threats and takedowns are last-writer-wins rows; verdicts follow `reviewed_entries`.
   */
  listed_records: {
    organization: string;
    /** As in `record-kind.ts`. */
    kind: number;
    id: string;
    version: number;
    event_id: string;
    /** In the log, of the event that made this state: the order of the feed. */
    position: number;
    /** When the log took that event. ms */
    stored_at: number;
    /** ms; null: deleted, or no longer this organization's business. So are all of the following. */
    created_at: number | null;
    /** ms; verdicts have none. */
    updated_at: number | null;
    /** Reports have neither status nor asset. */
    status: string | null;
    type: string | null;
    content: string | null;
    /** The hash of the asset's normalised key. */
    asset: string | null;
    /** Of a takedown one or none; of a threat none; of a verdict this organization's only. */
    brands: string[] | null;
  };
  /** The undeleted listed records of each brand, with what they are filtered by. */
  brand_records: {
    organization: string;
    kind: number;
    id: string;
    brand: string;
    /** What the metrics date it by, ms: a takedown's last change, otherwise the creation. */
    at: number;
    status: string | null;
    type: string | null;
    asset: string | null;
  };
  /** One last-writer-wins row per entry of the status history, deleted ones included. */
  reviewed_entries: {
    change_id: string;
    version: number;
    event_id: string;
    /** All whose verdict it is or was. */
    organizations: string[];
  };
  /** Brands, removed ones included. */
  brands: {
    organization: string;
    brand: string;
    name: string | null;
    registered: boolean;
    version: number;
    event_id: string;
  };
  feature_flags: {
    organization: string;
    flag: string;
    enabled: boolean;
    version: number;
    event_id: string;
  };
  /** The status history: each entry in its newest state, deleted ones included. */
  asset_status_entries: {
    change_id: string;
    asset_hash: string;
    /** The normalised key. */
    asset: string;
    /** As it was reported. Null: a row older than this column; a rebuild fills it. */
    content: string | null;
    /** Null: deleted for good. */
    status: string | null;
    version: number;
    event_id: string;
    /** `organization:brand` of each review. Null: deleted, or a row of before this column, of which the log says it. */
    reviews: string[] | null;
  };
  /** The current status of each asset ever named. Rows are never deleted, so that followers see every change. */
  asset_statuses: {
    asset_hash: string;
    /** The normalised key. */
    asset: string;
    /** As the deciding entry reported it. Null: no entry decides, or a row older than this column. */
    content: string | null;
    status: string;
    /** ms, of the entry that decides; null if none does. */
    created_at: number | null;
    /** In the log, of the last event that concerned the asset. */
    position: number;
  };
  /**
   * How far the rows of an organization's groups have been projected.
   */
  asset_group_streams: {
    organization: string;
    /** Revision of the stream `assetGroups-{organization}`; -1 if only assets are known. */
    revision: number;
    /** The greatest number ever given, deleted groups included. */
    last_group_id: number;
    /** The latest instant of an event of the stream (ms); answers to older requests are forgotten. */
    latest_at: number;
  };
  /** One last-writer-wins row per group, deleted ones included: the name of the newest revision. */
  asset_groups: {
    organization: string;
    group_id: number;
    /** Absent: deleted. */
    name: string | null;
    revision: number;
  };
  /** The first answers to requests that carried an `Idempotency-Key`. */
  asset_group_requests: {
    organization: string;
    key_hash: string;
    body_hash: string;
    /** The group that was created; absent: refused, because the name was taken. */
    group_id: number | null;
    /** ms */
    answered_at: number;
    revision: number;
  };
  /** One last-writer-wins row per asset: the group it is in by its newest event, whether there is such a group or not. */
  grouped_assets: {
    organization: string;
    /** The hash of the asset's normalised key. */
    asset: string;
    /** Absent: in none. */
    group_id: number | null;
    version: number;
    event_id: string;
    /** As it was reported. Absent: in no group, or a row of before these columns, of which the log says it. */
    type: string | null;
    content: string | null;
  };
  /** How many assets are in a group; no row if none is. */
  asset_group_counts: {
    organization: string;
    group_id: number;
    n: number;
  };
  /** One row per webhook endpoint, deleted ones included: the newest revision of the stream that is about it. */
  webhook_endpoints: {
    organization: string;
    id: string;
    url: string;
    /** Kinds of records, by the names of `listed-kind.ts`. Null: all; so are the next two. */
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
  /** Where the delivery process is with each endpoint. Of a deleted endpoint it deletes the row. */
  webhook_progress: {
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
  };
  /** How many deliveries were attempted, by what came of it: delivered, refused or unanswered. */
  webhook_outcomes: {
    outcome: string;
    attempts: number;
  };
  /** The newest 100 attempts of each endpoint, tests included. */
  webhook_attempts: {
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
  webhook_tests: {
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
  /** What organizations have sent with their own ingest keys, by UTC day. */
  ingest_usage: {
    /** Days since 1970. */
    day: number;
    organization: string;
    events: number;
    bytes: number;
  };
  /** When each key was last good for a request. */
  key_uses: {
    key_id: string;
    /** ms */
    last_used_at: number;
  };
  /** What became of the events that each organization, or key without one, has sent, by UTC day. */
  event_usage: {
    owner: string;
    /** Days since 1970. */
    day: number;
    /** An upstream type, or `other`. */
    type: string;
    outcome: string;
    events: number;
  };
  /** As versions before `rejections` have it. */
  rejected_events: {
    day: number;
    key_id: string;
    reason: string;
    count: number;
    last_at: number;
    sample: unknown;
  };
  /** Events that were rejected, by organization or key without one, UTC day, key, reason and type. */
  rejections: {
    owner: string;
    /** Days since 1970. */
    day: number;
    key_id: string;
    reason: string;
    /** An upstream type, or `other`. */
    type: string;
    count: number;
    /** ms */
    last_at: number;
    /** The first of them. */
    sample: unknown;
  };
}
