import { OWN_ROWS, type RowsByTable, rowsOfNames } from '../organization-rows.js';

/** The brands and feature flags of organizations. */
export interface OrganizationTables {
  /** Brands, including removed brands. */
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
}

export const ROWS_OF_ORGANIZATIONS: RowsByTable<OrganizationTables> = { brands: OWN_ROWS, feature_flags: OWN_ROWS };

/** Asset groups and their assets. */
export interface AssetGroupTables {
  /** The progress of the projection for each organization. */
  asset_group_streams: {
    organization: string;
    /**
     * Last applied revision of the stream `assetGroups-{organization}`; -1 if only events about assets were applied.
     */
    revision: number;
    /** The highest group id ever assigned, including deleted groups. */
    last_group_id: number;
    /** The latest instant of an event of the stream (ms). Responses to older idempotent requests are deleted. */
    latest_at: number;
  };
  /** One last-writer-wins row per group, including deleted groups. */
  asset_groups: {
    organization: string;
    group_id: number;
    /** Null: the group is deleted. */
    name: string | null;
    revision: number;
  };
  /** The first response to each request with an `Idempotency-Key`. */
  asset_group_requests: {
    organization: string;
    key_hash: string;
    body_hash: string;
    /** The group that was created. Null: the request was rejected because the name was taken. */
    group_id: number | null;
    /** ms */
    answered_at: number;
    revision: number;
  };
  /** One last-writer-wins row per asset: the group that its newest event names, even if that group does not exist. */
  grouped_assets: {
    organization: string;
    /** The hash of the asset's normalised key. */
    asset: string;
    /** Null: the asset is in no group. */
    group_id: number | null;
    version: number;
    event_id: string;
    /**
     * The asset type as reported. Null: the asset is in no group, or the row was stored by a version without this
     * column and the next column.
     */
    type: string | null;
    content: string | null;
  };
  /** How many assets are in a group. An empty group has no row. */
  asset_group_counts: {
    organization: string;
    group_id: number;
    n: number;
  };
}

export const ROWS_OF_ASSET_GROUPS: RowsByTable<AssetGroupTables> = {
  asset_group_streams: OWN_ROWS,
  asset_groups: OWN_ROWS,
  asset_group_requests: OWN_ROWS,
  grouped_assets: OWN_ROWS,
  asset_group_counts: OWN_ROWS,
};

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
