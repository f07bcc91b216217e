/** Asset groups and what is in them. */
export interface AssetGroupTables {
  /** How far the rows of an organization's groups have been projected. */
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
    /** As it was reported. Absent: in no group, or stored before there were these columns; the log has it. */
    type: string | null;
    content: string | null;
  };
  /** How many assets are in a group; no row if none is. */
  asset_group_counts: {
    organization: string;
    group_id: number;
    n: number;
  };
}
