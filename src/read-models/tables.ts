import type { Generated } from 'kysely';

/**
 * The schema `read`. The read models, which only projections write, can be dropped and rebuilt from the log; the last
 * three tables are written by this service itself and start empty again.
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
    /** The event at `position`, where there was one yet. */
    last_stream: string | null;
    last_revision: number | null;
    last_event_id: string | null;
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
  };
  /** Which projector works. One row. */
  projector_lease: {
    singleton: Generated<boolean>;
    owner: string;
    epoch: number;
    /** ms, the database's clock */
    expires_at: number;
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
    status: string;
    /** ms, of the entry that decides; null where none does. */
    created_at: number | null;
    /** In the log, of the last event that concerned the asset. */
    position: number;
  };
  /**
   * How far the rows of an organization's groups have got. Rewritten by every transaction that changes any of them, so
   * that its xmin tells one state of them from the next.
   */
  asset_group_streams: {
    organization: string;
    /** Revision of the stream `assetGroups-{organization}`; -1 where only assets are known. */
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
  /** How many assets are in a group; no row where none is. */
  asset_group_counts: {
    organization: string;
    group_id: number;
    n: number;
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
  /** Events that were rejected, by UTC day, key and reason. */
  rejected_events: {
    /** Days since 1970. */
    day: number;
    key_id: string;
    reason: string;
    count: number;
    /** ms */
    last_at: number;
    /** The first of them. */
    sample: unknown;
  };
}
